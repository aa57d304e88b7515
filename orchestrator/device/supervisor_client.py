"""The client of a device's supervisor: facts, log and restart over HTTP."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, fields

from .deadline import Deadline, dial
from .faults import DeviceFault

RESTART_SECONDS = 120.0  # a graceful end, a copy of gigabytes, a start


@dataclass(frozen=True)
class SupervisorFacts:
    """What the supervisor knows about its emulator."""

    state: str
    known: bool  # whether the slow facts (versions, digest) are final
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
    hung: str  # how the emulator is seen to hang; empty if it is not
    doubtful: bool  # the next looks may show that emulator or adb server hangs
    adb_lost: str  # how the adb server ended last, if the host ended or stopped it

    @property
    def ended(self) -> bool:
        """Whether the emulator ended unasked; the supervisor stays for a while to report it."""
        return self.state == "ended"

    @property
    def life(self) -> str:
        """Identifies one emulator process. A device that was started again from its snapshot has
        the same boot id and framework start count; only this value differs."""
        return f"start {self.restarts + 1} at {self.started_at}"


@dataclass(frozen=True)
class Health:
    state: str
    hung: str


class SupervisorClient:
    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self._token = token
        self._last: SupervisorFacts | None = None  # of a device that has ended

    def facts(self) -> SupervisorFacts:
        """An end is told once: the supervisor leaves soon after it was asked."""
        if self._last is not None:
            return self._last
        facts = _facts(self._ask("GET", "/facts", 10))
        if facts.ended:
            self._last = facts
        return facts

    def health(self, timeout: float = 5) -> Health:
        """A question that no supervisor leaves after."""
        body = self._ask("GET", "/healthz", timeout, fine=(200, 503))
        try:
            answer = json.loads(body)
            return Health(answer["state"], answer["hung"])
        except (ValueError, KeyError, TypeError) as error:
            raise DeviceFault("supervisor", f"malformed health: {error!r}") from error

    def log(self, count: int = 65536) -> str:
        """The tail of the emulator's log."""
        return self._ask("GET", f"/log?bytes={count}", 10).decode("utf-8", "replace")

    def restart(self) -> SupervisorFacts:
        """Kills the emulator, copies the AVD again and starts it; returns before it has booted."""
        return _facts(self._ask("POST", "/restart", RESTART_SECONDS))

    def healthy(self) -> bool:
        """Whether its emulator runs, and does not hang."""
        try:
            health = self.health()
        except DeviceFault:
            return False
        return health == Health("running", "")

    def _ask(self, method: str, path: str, timeout: float, fine: tuple[int, ...] = (200,)) -> bytes:
        during = f"supervisor {method} {path}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            # The time-out of http.client would limit each read only.
            connection.sock = dial(self.port, Deadline(timeout))
            connection.request(method, path, headers={"X-Emufarm-Token": self._token})
            answer = connection.getresponse()
            body = answer.read()
        except ConnectionRefusedError as error:
            raise DeviceFault("supervisor_gone", f"no answer: {error}", during=during) from error
        except (OSError, http.client.HTTPException) as error:
            raise DeviceFault("supervisor", f"no answer: {error}", during=during) from error
        finally:
            connection.close()
        if answer.status not in fine:
            text = f"{answer.status}: {body[:500].decode('utf-8', 'replace').strip()}"
            raise DeviceFault("supervisor", text, during=during)
        return body


def _facts(body: bytes) -> SupervisorFacts:
    try:
        facts = json.loads(body)
        values = {
            **facts,
            "adb_server_port": facts["ports"]["adb_server"],
            "console_port": facts["ports"]["console"],
            "adb_version": facts["versions"]["adb"],
            "emulator_version": facts["versions"]["emulator"],
        }
        return SupervisorFacts(
            **{field.name: values[field.name] for field in fields(SupervisorFacts)}
        )
    except (ValueError, KeyError, TypeError) as error:
        raise DeviceFault("supervisor", f"malformed facts: {error!r}") from error
