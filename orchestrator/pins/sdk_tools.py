"""Which tools of the Android SDK are on this machine, and what do they say of their version?

The embedded phone needs none of them; the contract asks for them where they are. A tool is looked
for in the SDK that the environment names, then in PATH, and asked within a time.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from .host import unknown

TOOL_S = 20.0  # sdkmanager starts a Java machine
_MOST = 16_384  # of what a tool prints
SDK_VARIABLES = ("ANDROID_SDK_ROOT", "ANDROID_HOME")
_JAVA = ("cmdline-tools/latest/bin", "cmdline-tools/*/bin", "tools/bin")  # the newest layout first
# Where a tool stands below the SDK, and how it is asked.
TOOLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "sdkmanager": (_JAVA, ("--version",)),
    "avdmanager": (_JAVA, ("--version",)),
    "adb": (("platform-tools",), ("version",)),
    "emulator": (("emulator",), ("-version",)),
}  # fmt: skip
_CHATTER = re.compile(r"^(?:INFO|WARNING|DEBUG|VERBOSE)\s*\|\s*")


def sdk_facts(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The SDK's folder, and each tool's version, with the path of the tool that told it."""
    root = sdk_root(environ)
    where = str(root) if root else unknown(f"neither {' nor '.join(SDK_VARIABLES)} is set")
    return {"root": where, **{name: tool_facts(name, environ) for name in TOOLS}}


def sdk_root(environ: Mapping[str, str]) -> Path | None:
    named = next((environ[name] for name in SDK_VARIABLES if environ.get(name)), None)
    return Path(named) if named else None


def tool_facts(name: str, environ: Mapping[str, str]) -> dict[str, Any]:
    path = find_tool(name, environ)
    if path is None:
        root = sdk_root(environ)
        below = f"none below {root}" if root else "no SDK is named"
        return {"version": unknown(f"there is no {name} in PATH, and {below}")}
    return {"path": str(path), "version": tool_version([str(path), *TOOLS[name][1]], environ)}


def find_tool(name: str, environ: Mapping[str, str]) -> Path | None:
    root = sdk_root(environ)
    for place in TOOLS[name][0] if root else ():
        for folder in sorted(root.glob(place), reverse=True) if root else ():
            if found := shutil.which(folder / name):
                return Path(found)
    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    return Path(found) if found else None


def tool_version(
    command: Sequence[str], environ: Mapping[str, str], seconds: float = TOOL_S
) -> Any:
    """What it prints, or why it cannot be known; ended with all it started where it takes long."""
    name = " ".join(command)
    # Files, not pipes: whoever inherits a pipe could keep us waiting for its end.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=dict(environ),
                start_new_session=True,
            )
        except OSError as error:
            return unknown(f"{command[0]} cannot be started: {error.strerror}")
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return unknown(f"{name} did not answer within {seconds:g} s")
        said, complained = (_text(file) for file in (output, errors))
    if code == 0 and said:
        return said
    words = " ".join((complained or said or "nothing").split())[:300]
    return unknown(f"{name} ended with {code} and said: {words}")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST).decode("utf-8", "replace").strip()


def adb_release(text: str) -> str:
    """`adb version` without the two lines that tell of the machine: its path, its kernel."""
    lines = [line.strip() for line in text.splitlines()]
    return "; ".join(line for line in lines if not line.startswith(("Installed as", "Running on")))


def emulator_release(text: str) -> str:
    """`emulator -version` without its chatter, which names a process."""
    kept = []
    for line in text.splitlines():
        plain = _CHATTER.sub("", line).strip()
        if plain and (plain == line.strip() or plain.startswith("Android emulator version")):
            kept.append(plain)
    return "; ".join(kept)
