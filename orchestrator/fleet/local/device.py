"""A device on this machine: one supervisor process, its folder and its ports."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ...errors import EmufarmError
from ...files import read_secret
from . import ports
from .environment import device_env

START_S = 60.0
STOP_S = 8.0  # the supervisor promises 5
_TAIL = 2000


class DeviceNotStarted(EmufarmError):
    """The supervisor ended, or did not answer in time, before its device ran."""

    def __init__(self, text: str, *, timed_out: bool = False) -> None:
        super().__init__(text)
        self.timed_out = timed_out


@dataclass(frozen=True)
class Golden:
    """An AVD to copy from, in a folder that holds NAME.ini and NAME.avd/."""

    home: Path
    avd: str
    snapshot: str = ""


class LocalDevice:
    """Starts on entry. Ends on exit, or when this process does, with everything it started.

    folder/home      the device's own HOME: adb key, console token
    folder/avd       the private copy of the golden AVD
    folder/*.log     the output of the emulator and the supervisor
    """

    def __init__(
        self,
        folder: Path,
        golden: Golden,
        emulator: Sequence[str],
        *,
        adb: Path,
        port: int | None = None,
        adb_port: int | None = None,
        env: Mapping[str, str] | None = None,
        linger_s: float = 0.0,  # it waits so long for a worker to ask how its emulator ended
    ) -> None:
        self.folder = folder
        self.golden = golden
        self._emulator = emulator
        self._adb = adb
        self._env = device_env() if env is None else dict(env)
        self._wanted = (port, adb_port)
        self._linger_s = linger_s
        self._claim: ports.PortClaim | None = None
        self.console_port = self.adb_port = self.control_port = 0  # known once it runs
        self.control_token = ""  # likewise
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def serial(self) -> str:
        return f"emulator-{self.console_port}"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def log(self) -> Path:
        return self.folder / "emulator.log"

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _command(self, token_file: Path) -> list[str]:
        golden = self.golden
        options = {
            "--golden": golden.home,
            "--avd-home": self.folder / "avd",
            "--avd": golden.avd,
            "--home": self.home,
            "--adb": self._adb,
            "--adb-port": self.adb_port,
            "--console-port": self.console_port,
            "--token-file": token_file,
            "--log": self.log,
            "--linger": self._linger_s,
        }
        words = [str(word) for pair in options.items() for word in pair]
        snapshot = ["--snapshot", golden.snapshot] if golden.snapshot else []
        program = [sys.executable, "-m", "orchestrator.supervisor", "--tied"]
        return [*program, *words, *snapshot, "--", *self._emulator]

    def _start(self) -> None:
        port, adb_port = self._wanted
        self._claim = ports.claim(port)
        self.console_port = self._claim.port
        self.adb_port = adb_port or self._claim.server_port
        self.folder.mkdir(parents=True, exist_ok=True)
        token_file = self.folder / "control.token"
        with (self.folder / "supervisor.log").open("wb") as errors:
            self._process = subprocess.Popen(
                self._command(token_file),
                stdin=subprocess.PIPE,  # our end is never written to: the supervisor ends with it
                stdout=subprocess.PIPE,
                stderr=errors,
                env=self._env,
                # A Ctrl-C in the terminal is ours to act on: workers must give leases back first.
                start_new_session=True,
            )
        line = self._first_line(self._process)
        if line is None:
            raise DeviceNotStarted(
                f"the supervisor gave no answer in {START_S:.0f} s", timed_out=True
            )
        if not line:
            output = (self.folder / "supervisor.log").read_text(errors="replace").strip()
            raise DeviceNotStarted(output or "the supervisor ended without output")
        self.control_port = int(json.loads(line)["control_port"])
        self.control_token = read_secret(token_file)
        token_file.unlink()  # the supervisor has read it, and nobody else shall

    def _first_line(self, process: subprocess.Popen[bytes]) -> bytes | None:
        """The line that the supervisor prints once the emulator runs; empty if it ended before,
        None if time ran out."""
        assert process.stdout is not None
        deadline, line = time.monotonic() + START_S, b""
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, left))
            if not ready:
                return None
            chunk = os.read(process.stdout.fileno(), 4096)
            if not chunk:
                return b""
            line += chunk
        return line

    @property
    def pid(self) -> int | None:
        """The supervisor's; no other process can have it before `ended`, `wait` or `stop` reaped
        the supervisor."""
        return self._process.pid if self._process else None

    def terminate(self) -> None:
        """Asks it to end, also while another thread waits for its start; `stop` waits."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def ended(self) -> int | None:
        """The supervisor's exit code, once it has one."""
        return self._process.poll() if self._process else None

    def wait(self) -> int:
        """Waits until the device ends by itself."""
        assert self._process is not None
        return self._process.wait()

    def last_output(self) -> str:
        """The end of the supervisor's log and of the emulator's, where the cause of an end is."""
        texts = (tail(self.folder / "supervisor.log", 500), tail(self.log))
        return "\n".join(text for text in texts if text)

    def stop(self) -> None:
        """Ends it and releases its ports; a second call does nothing."""
        try:
            if self._process is not None:
                _end(self._process)
        finally:
            if self._claim is not None:
                self._claim.release()


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()  # its children die with it
        process.wait(STOP_S)
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def tail(path: Path, count: int = _TAIL) -> str:
    """The last bytes of a log; empty where there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - count))
            return file.read(count).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""
