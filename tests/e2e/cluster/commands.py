"""Runs the short commands that make and remove a cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.cluster.layout import NoCluster

COMMAND_S = 60.0


def run(
    *words: str | Path, check: bool = True, seconds: float = COMMAND_S, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in words]
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=seconds, check=False
    )
    if check and done.returncode != 0:
        said = f"{done.stdout[-500:]}{done.stderr[-1000:]}".strip()
        raise NoCluster(f"{' '.join(command)[:200]}: {said}")
    return done


def run_all(commands: Sequence[str], before: Sequence[str] = ()) -> None:
    """Each line's words, entered the same way."""
    for line in commands:
        run(*before, *line.split())
