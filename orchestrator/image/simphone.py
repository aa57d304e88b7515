"""Calls the `simphone` executable: finds it, makes AVDs with it, packs it as a stand-in SDK.

The farm imports nothing of the simulated phone; this is the only way to it.
"""

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
from ..folders import ROOT
from .wheelhouse import require_locked

PROGRAM = "simphone"
ANSWER_S = 30.0
PACK_S = 300.0


@dataclass(frozen=True)
class SdkZip:
    """One zip of an SDK, as a build must find it."""

    path: Path
    size: int
    sha256: str


@dataclass(frozen=True)
class StandInSdk:
    """The simulated phone, packed in the layout of the vendor's three zips."""

    emulator: SdkZip
    platform_tools: SdkZip
    system_image: SdkZip


@dataclass(frozen=True)
class Simphone:
    """The installed program and the facts that it reports of itself."""

    program: str
    version: str
    folder: Path  # its code, which decides what its phones are
    system_image: Path

    def create_avd(self, home: Path, name: str, config: Mapping[str, str] | None = None) -> None:
        """A new AVD in `home`; UsageError with the program's own message where it refuses."""
        wanted = [f"{key}={value}" for key, value in (config or {}).items()]
        _run(self.program, "create-avd", str(home), name, *wanted)

    def pack_sdk(self, out: Path, wheelhouse: Path, root: Path = ROOT) -> StandInSdk:
        """Writes the zips into `out`, from wheels that are all in the lock of `root`."""
        require_locked(wheelhouse, root)
        words = ("sdk", "--out", str(out), "--wheelhouse", str(wheelhouse))
        made = json.loads(_run(self.program, *words, timeout_s=PACK_S))
        return StandInSdk(
            **{
                part: SdkZip(Path(facts["path"]), facts["size"], facts["sha256"])
                for part, facts in made.items()
            }
        )


@cache
def simphone() -> Simphone:
    """UsageError where the program is not installed."""
    beside = Path(sys.executable).parent  # where an environment that nobody activated has it
    program = shutil.which(PROGRAM, path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        raise UsageError(f"the simulated phone is not installed: pip install emufarm-{PROGRAM}")
    facts = json.loads(_run(program, "describe"))
    return Simphone(program, facts["version"], Path(facts["folder"]), Path(facts["system_image"]))


def _run(*command: str, timeout_s: float = ANSWER_S) -> str:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{command[0]} {command[1]} did not answer: {error}") from error
    if done.returncode != 0:
        raise UsageError(f"{PROGRAM} {command[1]}: {done.stderr.strip() or done.returncode}")
    return done.stdout
