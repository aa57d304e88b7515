"""What a person is told when a run cannot begin, is broken off, or cannot go on."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.coordinator.transitions import EpisodeDecided, LeaseGranted, LeaseReturned
from tests.run.conftest import ROOT, Farm, ended
from tests.run.test_road import SMOKE, wait_for


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--devices", "-1"), "choose 1 or more"),
        (("--run", "../elsewhere"), "without folders"),
        (("--run", ".hidden"), "without folders"),
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
    assert not farm.runs.exists()
    assert not (farm.runs.parent / "elsewhere").exists()


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


def test_an_interrupted_run_gives_its_leases_back_and_blames_nobody(farm: Farm) -> None:
    words = ("--runs", str(farm.runs), "--run", "r", "--devices", "2", "--repeats", "3")
    process = farm.start("run", SMOKE, *words)
    journal = farm.runs / "r" / "journal"
    wait_for(lambda: b"lease_granted" in read(journal), process)
    process.send_signal(signal.SIGINT)
    code, output = ended(process)
    assert code == 130, output
    assert f"emufarm resume {farm.runs / 'r'}" in output
    assert "infrastructure" not in output
    events = farm.events()
    open_leases = {e.token for e in events if isinstance(e, LeaseGranted)}
    open_leases -= {e.token for e in events if isinstance(e, LeaseReturned)}
    assert not open_leases
    assert farm.processes() == []
    code, output = farm.resume("r", "--devices", "2")
    assert code == 0, output
    decided = [e.episode for e in farm.events() if isinstance(e, EpisodeDecided)]
    assert len(decided) == len(set(decided)) == 3


def test_an_interrupted_check_does_not_go_on_to_the_next_control(farm: Farm) -> None:
    process = farm.start("cases", "check", SMOKE, "--runs", str(farm.runs), "--devices", "1")
    wait_for(lambda: any(b"lease_granted" in read(p) for p in journals(farm)), process)
    process.send_signal(signal.SIGINT)
    code, output = ended(process)
    assert code == 130, output
    assert "control idle" not in output


def journals(farm: Farm) -> list[Path]:
    return list(farm.runs.glob("**/journal"))


def read(journal: Path) -> bytes:
    return b"".join(path.read_bytes() for path in journal.glob("*"))


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
    table, report = plain.rsplit("coverage", 1)
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
