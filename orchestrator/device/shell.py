"""Runs commands in the phone's shell, and detects failures behind an exit code of 0."""

from __future__ import annotations

import shlex

from .adb_socket import AdbSocket, ShellResult
from .faults import (
    DUMP_BROKEN,
    DUMP_TIMEOUT,
    PACKAGE_MISSING,
    PROVIDER_ERROR,
    SERVICE_MISSING,
    DeviceFault,
)
from .retry import QUERY

_AS_ROOT = ("su", "0")


class Shell:
    """Takes commands as lists of words; quoting is done here and nowhere else."""

    def __init__(self, adb_socket: AdbSocket) -> None:
        self.adb_socket = adb_socket

    def run(
        self, *words: str, stdin: bytes = b"", timeout: float = 30.0, root: bool = False
    ) -> ShellResult:
        """Runs a command once; any exit code is a valid result."""
        return self.adb_socket.shell(command_line(words, root=root), stdin=stdin, timeout=timeout)

    def do(
        self, *words: str, stdin: bytes = b"", timeout: float = 30.0, root: bool = False
    ) -> ShellResult:
        """Runs a command once; anything but a clean success is a fault."""
        return succeeded(self.run(*words, stdin=stdin, timeout=timeout, root=root))

    def query(self, *words: str, timeout: float = 30.0, root: bool = False) -> ShellResult:
        """Runs a read-only command, and again after a transport error, which may add the few
        seconds of the retry policy to the time-out."""
        line = command_line(words, root=root)
        return QUERY(lambda: self.adb_socket.shell(line, timeout=timeout))

    def answer(self, *words: str, timeout: float = 30.0, root: bool = False) -> str:
        """A query's stdout; anything but a clean success is a fault."""
        return succeeded(self.query(*words, timeout=timeout, root=root)).text


def command_line(words: tuple[str, ...], *, root: bool = False) -> str:
    """Quotes the words. Root is `su 0`, because `adb root` would restart adbd."""
    return shlex.join((*_AS_ROOT, *words) if root else words)


def needs_root(line: str) -> bool:
    """Whether the command line runs as root."""
    return line.startswith(f"{' '.join(_AS_ROOT)} ")


def succeeded(result: ShellResult) -> ShellResult:
    """Returns the result, or raises a fault if the exit code or an error message shows a failure.

    On stdout an error message counts only if it stands alone: inside a text message or a page it
    may be anyone's text.
    """
    output = f"{result.text[:2000]}\n{result.error_text}".strip()
    alone = result.text[:200].strip().removeprefix("cmd: ")
    if SERVICE_MISSING.fullmatch(alone) or SERVICE_MISSING.search(result.error_text):
        raise DeviceFault("service_missing", output, during=result.command)
    if PROVIDER_ERROR.search(result.error_text):
        raise DeviceFault("provider_error", result.error_text.strip(), during=result.command)
    if result.command.startswith("dumpsys "):
        _require_whole(result)
    if result.exit_code != 0:
        text = f"exit code {result.exit_code}: {output}"
        raise DeviceFault("command_failed", text, during=result.command)
    return result


def _require_whole(dump: ShellResult) -> None:
    """Refuses an incomplete dump, in which everything after the break would seem absent."""
    last = dump.text.rstrip().rpartition("\n")[2]
    if timed_out := DUMP_TIMEOUT.fullmatch(last):
        raise DeviceFault("timeout", timed_out[0], during=dump.command)
    if broken := DUMP_BROKEN.search(dump.error_text):
        raise DeviceFault("bad_answer", broken[0], during=dump.command)


def require_package(text: str, package: str) -> None:
    """`dumpsys package` reports an unknown package with exit code 0."""
    if PACKAGE_MISSING.search(text):
        raise DeviceFault("package_missing", text.strip(), during=f"dumpsys package {package}")
