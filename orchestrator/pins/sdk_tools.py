"""Finds the Android SDK's tools on this machine and asks for their versions.

The simulated phone needs none of them, but the contract wants their versions recorded. A tool is
looked up in the SDK that the environment names, then in PATH, and must answer in time.
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

TOOL_S = 20.0  # sdkmanager starts a Java virtual machine
_MAX_OUTPUT = 16_384  # bytes that are kept of a tool's output
SDK_VARIABLES = ("ANDROID_SDK_ROOT", "ANDROID_HOME")
_JAVA = ("cmdline-tools/latest/bin", "cmdline-tools/*/bin", "tools/bin")  # the newest layout first
# The folders of a tool below the SDK, and the argument that asks for its version.
TOOLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "sdkmanager": (_JAVA, ("--version",)),
    "avdmanager": (_JAVA, ("--version",)),
    "adb": (("platform-tools",), ("version",)),
    "emulator": (("emulator",), ("-version",)),
}  # fmt: skip
_LOG_PREFIX = re.compile(r"^(?:INFO|WARNING|DEBUG|VERBOSE)\s*\|\s*")


def sdk_facts(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The SDK's folder, and the path and version of each tool."""
    root = _sdk_root(environ)
    unset = unknown(f"neither {' nor '.join(SDK_VARIABLES)} is set")
    facts: dict[str, Any] = {"root": str(root) if root else unset}
    for name, (_, question) in TOOLS.items():
        path = find_tool(name, environ)
        if path:
            version = tool_version([str(path), *question], environ)
            facts[name] = {"path": str(path), "version": version}
        else:
            below = f"none below {root}" if root else "no SDK is named"
            facts[name] = {"version": unknown(f"there is no {name} in PATH, and {below}")}
    return facts


def unknown_sdk(why: str) -> dict[str, Any]:
    """The same facts, of a run whose phones are on machines that nobody asked."""
    return {"root": unknown(why), **{name: {"version": unknown(why)} for name in TOOLS}}


def _sdk_root(environ: Mapping[str, str]) -> Path | None:
    named = next((environ[name] for name in SDK_VARIABLES if environ.get(name)), None)
    return Path(named) if named else None


def find_tool(name: str, environ: Mapping[str, str]) -> Path | None:
    if root := _sdk_root(environ):
        for place in TOOLS[name][0]:
            for folder in sorted(root.glob(place), reverse=True):
                if found := shutil.which(folder / name):
                    return Path(found)
    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    return Path(found) if found else None


def tool_version(
    command: Sequence[str], environ: Mapping[str, str], seconds: float = TOOL_S
) -> Any:
    """A tool's output, or why there is none. At the time limit it is killed with its children."""
    name = " ".join(command)
    # Files, not pipes: a child that inherits a pipe could keep it open and us waiting.
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
        printed, complaint = (_text(file) for file in (output, errors))
    if code == 0 and printed:
        return printed
    message = " ".join((complaint or printed or "nothing").split())[:300]
    return unknown(f"{name} ended with exit code {code} and printed: {message}")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MAX_OUTPUT).decode("utf-8", "replace").strip()


def adb_release(text: str) -> str:
    """`adb version` without the two lines about the machine: its path and its kernel."""
    lines = [line.strip() for line in text.splitlines()]
    return "; ".join(line for line in lines if not line.startswith(("Installed as", "Running on")))


def emulator_release(text: str) -> str:
    """`emulator -version` without its log lines, which contain a process id."""
    kept = []
    for line in text.splitlines():
        plain = _LOG_PREFIX.sub("", line).strip()
        if plain and (plain == line.strip() or plain.startswith("Android emulator version")):
            kept.append(plain)
    return "; ".join(kept)
