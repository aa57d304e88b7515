"""The command `emufarm audit`: its arguments, output and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.evidence.breaking import at


def emufarm_audit(*words: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "orchestrator.cli", "audit", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_a_run_without_a_finding_is_one_line_and_exit_code_0(run: Path) -> None:
    code, out, _ = emufarm_audit(str(run))
    assert code == 0
    assert out.startswith("1 bundle, ")
    assert out.endswith(" events, no finding\n")


def test_findings_are_lines_and_exit_code_1(run: Path, bundle: Path) -> None:
    at("action_trace", 0, event="deed")(bundle)
    code, out, _ = emufarm_audit(str(run))
    assert code == 1
    finding, last = out.splitlines()
    assert "action_trace.jsonl:1: not_an_event: " in finding
    assert last.endswith("1 finding")
    code, out, _ = emufarm_audit(str(run), "--json")
    assert code == 1
    told = json.loads(out)
    assert [found["rule"] for found in told["findings"]] == ["not_an_event"]
    assert told["bundles"] == 1


def test_what_is_no_run_is_a_usage_error(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none"):
        code, _, told = emufarm_audit(str(place))
        assert code == 2
        assert told.count("\n") == 1
        assert str(place) in told
