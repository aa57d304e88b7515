"""The messages to a user when a run cannot start or cannot continue."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys

import pytest

from tests.run.conftest import ROOT, Farm, ended
from tests.run.test_road import SMOKE


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--devices", "-1"), "choose 1 or more"),
        (("--run", "../elsewhere"), "without folders"),
        (("--run", ".hidden"), "without folders"),
        (("--run", "."), "without folders"),
        (("--run", ".."), "without folders"),
        (("--run", "a/b"), "without folders"),
        (("--run", "night\n7"), r"night\n7 is no name for a run"),
        (("--run", "\x1b[2Jnight"), r"\x1b[2Jnight is no name for a run"),
        (("--run", "night\x7f"), r"night\x7f is no name for a run"),
        (("--run", "night\x9b2J"), r"night\x9b2J is no name for a run"),
        (("--run", "night\u202e7"), r"night\u202e7 is no name for a run"),
        (("--run", "night\udcff"), r"night\udcff is no name for a run"),
        (("--run", "x" * 300), "at most 200 bytes"),
        (("--run", "é" * 101), "at most 200 bytes"),
        (("--min-success", "7"), "--min-success"),
        (("--agent", "nobody"), "there is no agent 'nobody'"),
        (("--agent-card", "/nowhere.yaml"), "/nowhere.yaml cannot be read"),
        (("--backend", "moon"), "there is no backend 'moon'"),
        (("-k", "no_such_case"), "-k"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_written(
    farm: Farm, words: tuple[str, ...], says: str
) -> None:
    code, output = ended(farm.start("run", SMOKE, "--runs", str(farm.runs), *words))
    assert code == 2, output
    assert says in output
    assert "Traceback" not in output
    assert all(line.isprintable() for line in output.splitlines())
    assert not farm.runs.exists()
    assert not (farm.runs.parent / "elsewhere").exists()


def test_whatever_a_folder_of_runs_has_writes_no_control_characters(farm: Farm) -> None:
    """A run's folder may be somebody else's: its name, its agent, its cases."""
    code, output = farm.run(SMOKE, "--devices", "1", "--repeats", "1", name="a")
    assert code == 0, output
    hostile = "\x1b[2Jred\r\x9b31m\x07 one\u202e"
    for name in (hostile, "b"):
        place = farm.runs / name
        shutil.copytree(farm.runs / "a", place)
        plan = json.loads((place / "plan.json").read_bytes())
        plan["agent"] = hostile
        (place / "plan.json").write_text(json.dumps(plan))
    (farm.runs / "spoiled\x1b[1m" / "plan.json").parent.mkdir()
    (farm.runs / "spoiled\x1b[1m" / "plan.json").write_text("{")
    runs = ("--runs", str(farm.runs))
    for words in (
        ("runs", "list", "--local", *runs), ("report", hostile, *runs), ("verify", hostile, *runs),
        ("audit", hostile, *runs), ("compare", "a", hostile, *runs), ("resume", hostile, *runs),
        ("reproduce", "a", "--against", hostile, *runs), ("report", "no\x1b[1m", *runs),
    ):  # fmt: skip
        _, output = ended(farm.start(*words))
        assert output, words
        assert [line for line in output.splitlines() if not line.isprintable()] == [], words
        assert "Traceback" not in output


def test_a_run_may_be_called_by_any_text_of_one_line(farm: Farm) -> None:
    name = 'night "1" {run="\\other"} 1 — é'
    code, output = farm.run(SMOKE, "--devices", "1", name=name)
    assert code == 0, output
    assert farm.report(name)["complete"]
    code, output = ended(farm.start("runs", "list", "--local", "--runs", str(farm.runs)))
    assert name in output


def test_a_port_that_is_none_is_refused(farm: Farm) -> None:
    code, output = ended(farm.start("coordinator", str(farm.runs / "r"), "--port", "99999"))
    assert (code, "Traceback" in output) == (2, False), output
    assert "--port" in output


@pytest.mark.parametrize("command", [("run",), ("cases", "check")])
def test_a_folder_that_cannot_be_written_is_named(farm: Farm, command: tuple[str, ...]) -> None:
    farm.runs.write_text("a file where the runs should go")
    code, output = ended(farm.start(*command, SMOKE, "--runs", str(farm.runs), "--devices", "1"))
    assert code == 2, output
    assert f"cannot write the run to {farm.runs}" in output


def test_a_spoiled_run_folder_is_told_in_a_sentence(farm: Farm) -> None:
    code, output = farm.run(SMOKE, "--devices", "1")
    assert code == 0, output
    place = farm.runs / "r"
    manifest = place / "run_manifest.json"
    whole = manifest.read_bytes()
    manifest.write_text(json.dumps({**json.loads(whole), "android": {}}))
    code, output = farm.resume()
    assert (code, "Traceback" in output) == (2, False), output
    assert "is not a run's manifest" in output
    manifest.write_bytes(whole)
    segment = place / "journal" / "000001.jsonl"
    segment.unlink()
    segment.mkdir()
    code, output = farm.resume()
    assert (code, "Traceback" in output) == (20, False), output
    assert segment.name in output


def test_a_report_says_that_the_run_has_no_last_word(farm: Farm) -> None:
    code, output = farm.run(SMOKE, "--devices", "1")
    assert code == 0, output
    segment = farm.runs / "r" / "journal" / "000001.jsonl"
    segment.write_bytes(b"".join(segment.read_bytes().splitlines(keepends=True)[:-1]))
    code, output = ended(farm.start("report", str(farm.runs / "r")))
    assert code == 0, output
    assert "the run is not complete" in output


def test_on_a_terminal_the_report_comes_last_and_by_itself(farm: Farm) -> None:
    shown = on_a_terminal(farm, "run", SMOKE, "--runs", str(farm.runs), "--run", "r",
                          "--devices", "1")  # fmt: skip
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r", "")
    table, report = plain.split("coverage", 1)
    assert "slot-00.1" in table
    assert table.endswith("\n")
    assert "slot-00.1" not in report
    assert report.rstrip().endswith("report.json")


def on_a_terminal(farm: Farm, *words: str) -> str:
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "orchestrator.cli", *words]
    env = {**farm.env, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, env=env, cwd=ROOT, stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        said = bytearray()
        try:
            while piece := os.read(ours, 1 << 16):
                said += piece
        except OSError:
            pass  # Linux's word for: the last one who had the terminal open is gone
        os.close(ours)
    assert process.returncode == 0, said
    return said.decode()
