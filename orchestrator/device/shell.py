"""Runs commands in the phone's shell, and detects failures behind an exit code of 0."""

from __future__ import annotations

import shlex

from .adb_socket import AdbSocket, ShellResult
from .faults import DUMP_BROKEN, DUMP_TIMEOUT, PROVIDER_ERROR, SERVICE_MISSING, DeviceFault
from .retry import QUERY

_AS_ROOT = ("su", "0")


class Shell:
    """Takes commands as lists of words; quoting is done here and nowhere else."""

    def __init__(self, adb_socket: AdbSocket) -> None:
        self.adb_socket = adb_socket

    def run(self, *words: str, timeout: float = 30.0, root: bool = False) -> ShellResult:
        """Runs a command once; any exit code is a valid result."""
        return self.adb_socket.shell(command_line(words, root=root), timeout=timeout)

    def do(self, *words: str, timeout: float = 30.0, root: bool = False) -> ShellResult:
        """Runs a command once; anything but a clean success is a fault."""
        return succeeded(self.run(*words, timeout=timeout, root=root))

    def query(self, *words: str, timeout: float = 30.0, root: bool = False) -> ShellResult:
        """Runs a read-only command, and again after a transport error: that may add seconds."""
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

    On stdout an error message counts only alone: inside a text or page it may be anyone's.
    """
    output = f"{result.text[:2000]}\n{result.error_text}".strip()
    alone = result.text[:200].strip().removeprefix("cmd: ")
    if SERVICE_MISSING.fullmatch(alone) or SERVICE_MISSING.search(result.error_text):
        raise DeviceFault("service_missing", output, during=result.command)
    if PROVIDER_ERROR.search(result.error_text):
        raise DeviceFault("provider_error", result.error_text.strip(), during=result.command)
    if result.command.startswith("dumpsys "):
        # After the break of an incomplete dump everything would seem absent.
        if timed_out := DUMP_TIMEOUT.fullmatch(result.text.rstrip().rpartition("\n")[2]):
            raise DeviceFault("timeout", timed_out[0], during=result.command)
        if broken := DUMP_BROKEN.search(result.error_text):
            raise DeviceFault("bad_answer", broken[0], during=result.command)
    if result.exit_code != 0:
        text = f"exit code {result.exit_code}: {output}"
        raise DeviceFault("command_failed", text, during=result.command)
    return result
