"""`emufarm doctor` prints facts that a run would record, what is missing, and if one can start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agent.confinement import Unconfined
from orchestrator.farm.doctor import Advice, examine, folder_facts, gather
from orchestrator.pins.host import host_facts, unknown

ROOT = Path(__file__).parents[2]


def doctor(tmp_path: Path, *words: str, **env: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "orchestrator.cli", "doctor", *words]
    known = {**os.environ, "EMUFARM_CACHE": str(tmp_path / "cache"), **env}
    done = subprocess.run(
        command, cwd=ROOT, env=known, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_it_tells_the_facts_of_a_run_and_starts_nothing(tmp_path: Path) -> None:
    code, output = doctor(tmp_path, "--json", "--runs", str(tmp_path / "runs"))
    told = json.loads(output)
    assert code == 0
    assert told["facts"]["host"] == host_facts()
    assert told["facts"]["image"]["why"] == "it is not baked yet: the first run does it"
    assert list(tmp_path.iterdir()) == []


def test_without_adb_no_run_can_start_and_that_is_said_first(tmp_path: Path) -> None:
    code, output = doctor(tmp_path, ADBUTILS_ADB_PATH="/nowhere/adb")
    assert code == 1
    findings = output[output.index("CANNOT RUN") :]
    assert findings.startswith("CANNOT RUN  adb does not answer")
    assert "/nowhere/adb" in findings
    assert output.rstrip().endswith("no run can start here")


@pytest.fixture
def facts(tmp_path: Path) -> dict[str, Any]:
    """Of a machine that has everything."""
    told = gather(tmp_path)
    version = {"path": "/sdk/tool", "version": "1"}
    told["host"] |= {"kvm": {"present": True, "usable": True}, "memory_kb": 8_000_000}
    told["code"] |= {"commit": "0" * 40, "dirty": False, "lock_sha256": {"requirements.txt": "1"}}
    told["sdk"] = dict.fromkeys(("root", "sdkmanager", "avdmanager", "adb", "emulator"), version)
    folder = {"path": "/f", "writable": True, "free_mb": 50_000}
    told["command_agents"] = {"confined": True, "ports": []}
    told["folders"] = dict.fromkeys(("runs", "cache", "temporary"), folder)
    return told


def test_nothing_is_missing_where_all_is_there(facts: dict[str, Any]) -> None:
    assert examine(facts) == []


def test_a_host_that_cannot_confine_command_agents_is_told_what_to_install(
    facts: dict[str, Any],
) -> None:
    facts["command_agents"] = Unconfined("there is no bwrap").as_json()
    finding = one(facts)
    assert finding.level == "missing"
    assert "a command agent runs unconfined here (there is no bwrap)" in finding.what
    assert "apt-get install bubblewrap slirp4netns" in finding.what


def one(facts: dict[str, Any]) -> Advice:
    (finding,) = examine(facts)
    return finding


@pytest.mark.parametrize(
    ("where", "value", "says", "do"),
    [
        ("folders.runs.free_mb", 10, "/f has 10 MB free of 500", "--runs"),
        ("folders.cache.writable", False, "/f cannot be written", "EMUFARM_CACHE"),
        ("folders.cache", unknown("no home"), "no cache folder: no home", "EMUFARM_CACHE"),
        ("profiles", unknown("none"), "no profile: none", "EMUFARM_IMAGES"),
        ("adb.version", unknown("gone"), "adb does not answer: gone", "requirements"),
    ],
)
def test_what_keeps_a_run_from_starting(
    facts: dict[str, Any], where: str, value: Any, says: str, do: str
) -> None:
    finding = one(changed(facts, where, value))
    assert finding.level == "cannot run"
    assert finding.what == says
    assert do in finding.do


@pytest.mark.parametrize(
    ("where", "value", "says", "do"),
    [
        ("folders.temporary.free_mb", 3000, "/f has 3000 MB free", "8000 MB"),
        ("host.kvm", {"usable": False, "why": "no"}, "KVM: no", "emulators will not start"),
        ("host.memory_kb", 1_000_000, "memory: 976 MB in all", "--devices 1"),
        ("host.pip", unknown("none"), "pip: none", "recorded as unknown"),
        ("code.commit", unknown("no git"), "commit: no git", "git checkout"),
        ("code.dirty", True, "files differ from the commit", "commit before"),
        ("sdk.emulator.version", unknown("it hangs"), "it hangs", "recorded as unknown"),
    ],
)  # fmt: skip
def test_what_is_missing_and_what_to_do(
    facts: dict[str, Any], where: str, value: Any, says: str, do: str
) -> None:
    finding = one(changed(facts, where, value))
    assert finding.level == "missing"
    assert finding.what == says
    assert do in finding.do


def changed(facts: dict[str, Any], where: str, value: Any) -> dict[str, Any]:
    first, _, rest = where.partition(".")
    return {**facts, first: changed(facts[first], rest, value) if rest else value}


def test_a_folder_that_is_still_to_be_made_is_judged_by_the_one_above(tmp_path: Path) -> None:
    told = folder_facts(tmp_path / "a" / "b")
    assert told["writable"]
    assert told["path"] == str(tmp_path / "a" / "b")
    (tmp_path / "file").touch()
    assert not folder_facts(tmp_path / "file" / "runs")["writable"]
