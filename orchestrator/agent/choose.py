"""Which agent does a word such as `reference` or `command:./agent.py` name?"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..cases.render import CaseBroken, Rendered
from ..cases.script import parse_script
from ..errors import UsageError
from .agent import Agent
from .chance import Random
from .command import Command
from .scripted import Scripted

COMMAND = "command:"
# Each control, and which of the case's scripts it plays.
SCRIPTS = {"reference": "solution", "near_miss": "near_miss", "gullible": "bait"}
KNOWN = (*SCRIPTS, "idle", "random", f"{COMMAND}PROGRAM")


def check_spec(spec: str, folder: Path | None = None) -> None:
    """UsageError where there is no such agent; asked before anything is provisioned."""
    if spec.startswith(COMMAND):
        command_words(spec, folder or Path.cwd())
    elif spec not in KNOWN:
        raise UsageError(f"there is no agent {spec!r}; choose one of {', '.join(KNOWN)}")


def make_agent(spec: str, rendered: Rendered, seed: int) -> Agent:
    """The agent for one attempt at what was rendered. `seed` is the random one's only."""
    check_spec(spec)
    if spec.startswith(COMMAND):
        return Command(command_words(spec, Path.cwd()))
    if spec == "random":
        return Random(seed)
    if spec == "idle":
        return Scripted(spec, ())
    script: Sequence[Mapping[str, Any]] | None = getattr(rendered, SCRIPTS[spec])
    if script is None:
        raise CaseBroken(f"the case has no {SCRIPTS[spec]} for this profile")
    return Scripted(spec, parse_script(script))


def command_words(spec: str, folder: Path) -> tuple[str, ...]:
    """The command of a spec. It runs in another folder, so names of files here become absolute."""
    try:
        words = shlex.split(spec.removeprefix(COMMAND))
    except ValueError as error:
        raise UsageError(f"{spec!r} is no command line: {error}") from error
    if not words:
        raise UsageError(f"{spec!r} names no program; write for example {COMMAND}./agent.py")
    program = shutil.which(folder / words[0] if "/" in words[0] else words[0])
    if program is None:
        raise UsageError(f"{words[0]!r} is not there, or may not be executed")
    here = [str(folder / word) if (folder / word).is_file() else word for word in words[1:]]
    return (os.path.abspath(program), *here)
