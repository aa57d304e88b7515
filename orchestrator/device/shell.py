"""How are words put to the phone's shell, and when is an exit code of 0 not a success?"""

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
    """Commands as words; quoting is done here and nowhere else."""

    def __init__(self, adb_socket: AdbSocket) -> None:
        self.adb_socket = adb_socket

    def run(
        self, *words: str, stdin: bytes = b"", timeout: float = 30.0, root: bool = False
    ) -> ShellResult:
        """Run once, whatever it changes; any exit code is an answer."""
        return self.adb_socket.shell(command_line(words, root=root), stdin=stdin, timeout=timeout)

    def do(
        self, *words: str, stdin: bytes = b"", timeout: float = 30.0, root: bool = False
    ) -> ShellResult:
        """Run once; anything but a clean success is a fault."""
        return succeeded(self.run(*words, stdin=stdin, timeout=timeout, root=root))

    def query(self, *words: str, timeout: float = 30.0, root: bool = False) -> ShellResult:
        """Ask something that changes nothing: asked again where only the transport hiccuped,
        which may add the policy's few seconds to the time-out."""
        line = command_line(words, root=root)
        return QUERY(lambda: self.adb_socket.shell(line, timeout=timeout))

    def answer(self, *words: str, timeout: float = 30.0, root: bool = False) -> str:
        """A query's stdout; anything but a clean success is a fault."""
        return succeeded(self.query(*words, timeout=timeout, root=root)).text


def command_line(words: tuple[str, ...], *, root: bool = False) -> str:
    """Root is `su 0`: `adb root` would restart adbd in the middle of everything."""
    return shlex.join((*_AS_ROOT, *words) if root else words)


def needs_root(line: str) -> bool:
    """Whether it is a command line for root."""
    return line.startswith(f"{' '.join(_AS_ROOT)} ")


def succeeded(result: ShellResult) -> ShellResult:
    """The result, unless it failed: by its exit code, or by words beside an exit code of 0.

    On stdout those words count only alone: within a message or a page they are anybody's.
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
    """A dump that was cut would be a no to whatever had not been dumped yet."""
    last = dump.text.rstrip().rpartition("\n")[2]
    if said := DUMP_TIMEOUT.fullmatch(last):
        raise DeviceFault("timeout", said[0], during=dump.command)
    if said := DUMP_BROKEN.search(dump.error_text):
        raise DeviceFault("bad_answer", said[0], during=dump.command)


def require_package(text: str, package: str) -> None:
    """`dumpsys package` of an unknown one says so and exits 0."""
    if PACKAGE_MISSING.search(text):
        raise DeviceFault("package_missing", text.strip(), during=f"dumpsys package {package}")
