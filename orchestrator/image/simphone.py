"""The simulated phone as the farm meets it: an executable, never an import."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import UsageError

PROGRAM = "simphone"
ANSWER_S = 30.0


@dataclass(frozen=True)
class Simphone:
    """The installed program and what it says of itself."""

    program: str
    version: str
    folder: Path  # its code, which decides what its phones are
    system_image: Path

    def create_avd(self, home: Path, name: str, config: Mapping[str, str] | None = None) -> None:
        """A new AVD in `home`; UsageError with the program's own words where it refuses."""
        wanted = [f"{key}={value}" for key, value in (config or {}).items()]
        _run(self.program, "create-avd", str(home), name, *wanted)


@cache
def simphone() -> Simphone:
    """UsageError where the program is not installed."""
    beside = Path(sys.executable).parent  # where an environment that nobody activated has it
    program = shutil.which(PROGRAM, path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        raise UsageError(f"the simulated phone is not installed: pip install {PROGRAM}")
    facts = json.loads(_run(program, "describe"))
    return Simphone(program, facts["version"], Path(facts["folder"]), Path(facts["system_image"]))


def _run(*command: str) -> str:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ANSWER_S,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{command[0]} {command[1]} did not answer: {error}") from error
    if done.returncode != 0:
        raise UsageError(f"{PROGRAM} {command[1]}: {done.stderr.strip() or done.returncode}")
    return done.stdout
