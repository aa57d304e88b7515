"""How is the supervisor beside the device asked?"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass

from .deadline import Deadline, dial
from .faults import DeviceFault

RESTART_SECONDS = 120.0  # a graceful end, a copy of gigabytes, a start


@dataclass(frozen=True)
class Facts:
    """What the supervisor knows of its emulator."""

    state: str
    known: bool  # whether what takes a while to learn is told, or will not be: versions, digest
    serial: str
    adb_server_port: int
    console_port: int
    console_token: str
    avd: str
    avd_path: str
    config_ini: str | None
    snapshot: str | None
    snapshot_sha256: str | None
    adb_version: str | None
    emulator_version: str | None
    pid: int | None
    exit_code: int | None
    restarts: int
    adb_restarts: int
    started_at: float

    @property
    def life(self) -> str:
        """Names one emulator process. A device started again from its snapshot shows the same
        boot id and framework as before; only this tells the two apart."""
        return f"start {self.restarts + 1} at {self.started_at}"


class SupervisorClient:
    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self._token = token

    def facts(self) -> Facts:
        return _facts(self._ask("GET", "/facts", 10))

    def log(self, count: int = 65536) -> str:
        """The tail of the emulator's log."""
        return self._ask("GET", f"/log?bytes={count}", 10).decode("utf-8", "replace")

    def restart(self) -> Facts:
        """Kill, re-copy, start: returns once the new emulator process runs, not yet booted."""
        return _facts(self._ask("POST", "/restart", RESTART_SECONDS))

    def healthy(self) -> bool:
        try:
            self._ask("GET", "/healthz", 5)
        except DeviceFault:
            return False
        return True

    def _ask(self, method: str, path: str, timeout: float) -> bytes:
        during = f"supervisor {method} {path}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.sock = dial(self.port, Deadline(timeout))  # http.client's is each read's
            connection.request(method, path, headers={"X-Emufarm-Token": self._token})
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise DeviceFault("supervisor", f"no answer: {error}", during=during) from error
        finally:
            connection.close()
        if answer.status != 200:
            text = f"{answer.status}: {body[:500].decode('utf-8', 'replace').strip()}"
            raise DeviceFault("supervisor", text, during=during)
        return body


def _facts(body: bytes) -> Facts:
    try:
        told = json.loads(body)
        return Facts(
            state=told["state"],
            known=told["known"],
            serial=told["serial"],
            adb_server_port=told["ports"]["adb_server"],
            console_port=told["ports"]["console"],
            console_token=told["console_token"],
            avd=told["avd"],
            avd_path=told["avd_path"],
            config_ini=told["config_ini"],
            snapshot=told["snapshot"],
            snapshot_sha256=told["snapshot_sha256"],
            adb_version=told["versions"]["adb"],
            emulator_version=told["versions"]["emulator"],
            pid=told["pid"],
            exit_code=told["exit_code"],
            restarts=told["restarts"],
            adb_restarts=told["adb_restarts"],
            started_at=told["started_at"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise DeviceFault("supervisor", f"not the facts: {error!r}") from error
