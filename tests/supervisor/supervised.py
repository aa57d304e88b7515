"""A supervisor process with the stand-in emulator and the real adb."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import adbutils

from tests.ports import even_port

STAND_IN = Path(__file__).with_name("stand_in.py")
PATIENCE_S = 60.0


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition; a test that waits in vain says for what."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.005)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Supervisor:
    def __init__(
        self,
        folder: Path,
        *words: str,
        emulator: tuple[str, ...] = (),
        stdin: int | None = None,
    ) -> None:
        self.folder = folder
        self.console_port = even_port()
        self.adb_port = even_port()
        command = [sys.executable, "-m", "orchestrator.supervisor"]
        command += ["--golden", str(folder / "golden"), "--avd-home", str(folder / "avds")]
        command += ["--avd", "phone", "--home", str(folder / "home"), "--adb", adbutils.adb_path()]
        command += ["--adb-port", str(self.adb_port), "--console-port", str(self.console_port)]
        command += ["--token-file", str(folder / "token"), "--log", str(folder / "emulator.log")]
        command += [*words, "--", *(emulator or (sys.executable, str(STAND_IN)))]
        self.errors = folder / "stderr"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=stdin, stdout=subprocess.PIPE, stderr=errors
            )

    def ready(self) -> Supervisor:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.errors.read_text()
        self.control_port = json.loads(line)["control_port"]
        return self

    def ask(self, method: str, path: str, token: str | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=PATIENCE_S)
        given = (self.folder / "token").read_text() if token is None else token
        connection.request(method, path, headers={"X-Emufarm-Token": given})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def facts(self) -> dict[str, Any]:
        status, body = self.ask("GET", "/facts")
        assert status == 200
        facts: dict[str, Any] = json.loads(body)
        return facts

    def grandchild(self) -> int:
        """The process that the newest emulator started."""
        log = self.folder / "emulator.log"
        marker = self.folder / "avds" / "phone.avd" / "written-by-the-emulator"
        until(marker.exists, "the emulator runs")
        return int(json.loads(log.read_text().splitlines()[-1])["grandchild"])

    def adb_server(self) -> int:
        """The pid of the adb server under this supervisor."""
        return adb_server_on(self.adb_port)


def adb_server_on(port: int) -> int:
    """The pid of the adb server that a supervisor started on this port; 0 if there is none."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(port).encode() in words and b"nodaemon" in words:
                return int(folder.name)
    return 0


Start = Callable[..., Supervisor]
