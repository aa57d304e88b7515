"""`emufarm cluster-coordinator`: its output is for whoever collects logs."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from orchestrator.cli import commands
from orchestrator.cli.exit_codes import Exit


def test_a_coordinator_that_cannot_begin_says_so_in_a_json_object(tmp_path: Path) -> None:
    words = [
        "cluster-coordinator", "a-run", "--url", "http://10.0.0.1:8080", "--folder", str(tmp_path),
        "--secrets", str(tmp_path / "none"), "--port", "8080", "--pending-timeout", "60",
    ]  # fmt: skip
    result = CliRunner().invoke(commands("cluster-coordinator"), words)
    assert result.exit_code == Exit.USAGE
    (line,) = result.stdout.splitlines()
    assert json.loads(line)["event"] == "notice"
    assert "cannot read the secret in" in json.loads(line)["text"]
    assert result.stderr == ""
