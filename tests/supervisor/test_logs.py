"""Logs stay short while a child keeps writing."""

from __future__ import annotations

import subprocess
from pathlib import Path

from orchestrator.supervisor.logs import shorten


def test_a_short_log_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert not shorten(log)
    log.write_bytes(b"line\n" * 10)
    assert not shorten(log, limit=50)
    assert log.read_bytes() == b"line\n" * 10


def test_a_long_log_keeps_its_last_whole_lines_and_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("ab") as output:
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=output)
    assert child.stdin is not None
    log.write_bytes(b"".join(b"line %03d\n" % number for number in range(100)))
    assert shorten(log, limit=500, kept=30)
    first, *rest = log.read_bytes().splitlines()
    assert first == b"[cut: 873 bytes stood before]"
    assert rest == [b"line 097", b"line 098", b"line 099"]
    child.communicate(b"after the cut\n", timeout=60)
    assert log.read_bytes().splitlines()[-2:] == [b"line 099", b"after the cut"]
