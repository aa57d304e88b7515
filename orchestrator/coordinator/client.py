"""A worker's client of the coordinator's HTTP API, with retries.

Every call may be repeated, and all but renewals are, for a bounded time, while the coordinator is
away (restarted, moved, overloaded). A lease that has ended is reported at once, since its holder
must stop.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import httpx
from pydantic import TypeAdapter

from ..device.retry import coordinator_policy
from ..errors import EmufarmError
from ..evidence import archive, manifest
from ..outcome import Cause
from ..settings import Limits
from .messages import (
    LEASE_HEADER,
    MANIFEST_HEADER,
    TOKEN_HEADER,
    AgentCommand,
    AgentStatus,
    DeviceRetired,
    Lease,
    LeaseAnswer,
    NothingToLease,
    RunFinished,
)

_ANSWER_S = 30.0  # beyond the time that a lease request waits
_AGENT_S = 120.0  # an engine makes, starts and removes a container
_UPLOAD_S = 600.0
_CHUNK = 1 << 18
_AWAY = frozenset({502, 503, 504})
_ENDED = frozenset({404, 410})
_ANSWERS: dict[str, TypeAdapter[Any]] = {
    kind.__name__: TypeAdapter(kind) for kind in (Lease, NothingToLease, RunFinished, DeviceRetired)
}
_AGENT_STATUS: TypeAdapter[AgentStatus] = TypeAdapter(AgentStatus)

T = TypeVar("T")


class CoordinatorAway(EmufarmError):
    """The coordinator does not answer, or not now."""

    transient = True


class CoordinatorRefused(EmufarmError):
    """The coordinator refused the request; repeating it would not help."""


class LeaseLost(EmufarmError):
    """The lease has ended: what is still done under it is not scored."""


class CoordinatorClient:
    """For one worker and its device. The thread that renews the lease may use it too."""

    def __init__(
        self, url: str, secret: str, *, worker: str, away_s: float = Limits.away_s
    ) -> None:
        """`worker` is how logs and the journal name it; the secret says which device is meant.
        `away_s` bounds its retries until a lease brings the run's limit."""
        self._worker = worker
        self._retry = coordinator_policy(away_s)
        headers = {TOKEN_HEADER: secret}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=_ANSWER_S, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def lease(self, wait: float = 20.0) -> LeaseAnswer:
        """The next lease; the coordinator waits for one for at most this time."""
        body = {
            "worker": self._worker,
            # The same for all tries: a lease whose answer was lost on the way is given again.
            "request_id": secrets.token_hex(8),
            "wait": wait,
        }
        fields = self._retry(lambda: self._post("/v1/lease", body, wait + _ANSWER_S))
        answer: LeaseAnswer = _parsed(
            lambda: _ANSWERS[fields.pop("answer")].validate_python(fields)
        )
        if isinstance(answer, Lease):
            self._retry = coordinator_policy(answer.limits.away_s)
        return answer

    def renew(self, token: str) -> float:
        """Seconds until the lease ends; LeaseLost if it has ended. Not retried: the next renewal
        follows soon."""
        fields = self._post("/v1/renew", {"token": token})
        return _parsed(lambda: float(fields["expires_s"]))

    def commit(self, token: str, bundle: Path) -> Literal["committed", "fenced"]:
        """Send a sealed bundle; on return the coordinator has stored it durably. `fenced`: it came
        too late to be scored. LeaseLost if the run cannot keep it at all."""
        packed = bundle.with_name(f"{bundle.name}.tar.zst")
        digest = manifest.digest(bundle)
        archive.pack(bundle, packed)
        try:
            fields = self._retry(lambda: self._upload(token, digest, packed))
        finally:
            packed.unlink()
        return "committed" if fields.get("result") == "committed" else "fenced"

    def unconfined(self, token: str) -> None:
        """An agent that can reach this worker is about to be started. LeaseLost if the lease has
        ended."""
        self._retry(lambda: self._post("/v1/unconfined", {"token": token}))

    def give_back(self, token: str, reason: str) -> None:
        """The attempt did not happen: its bundle is not kept, and its number is given again."""
        with suppress(LeaseLost):  # it ended by itself: there is nothing left to give back
            self._retry(lambda: self._post("/v1/return", {"token": token, "reason": reason}))

    def agent(self, command: AgentCommand) -> AgentStatus:
        """Command the container of this device's agent. Repeating a command changes nothing."""
        fields = self._retry(lambda: self._post("/v1/agent", {"command": command}, _AGENT_S))
        status: AgentStatus = _parsed(lambda: _AGENT_STATUS.validate_python(fields))
        return status

    def device_started(self, facts: Mapping[str, Any], boot_s: float | None = None) -> None:
        started = {"event": "started", "worker": self._worker, "boot_s": boot_s}
        self._report({**started, "facts": dict(facts)})

    def device_failed(
        self, phase: Literal["provision", "boot"], reason: str, cause: Cause, text: str
    ) -> None:
        failed = {"event": "failed", "phase": phase, "reason": reason, "cause": cause}
        self._report({**failed, "text": text[:4000]})

    def _report(self, fields: dict[str, Any]) -> None:
        body = {"report_id": secrets.token_hex(8), **fields}
        self._retry(lambda: self._post("/v1/device", body))

    def _upload(self, token: str, digest: str, packed: Path) -> dict[str, Any]:
        headers = {
            LEASE_HEADER: token,
            MANIFEST_HEADER: digest,
            "Content-Length": str(packed.stat().st_size),
        }
        return self._ask("/v1/commit", _UPLOAD_S, content=_pieces(packed), headers=headers)

    def _post(
        self, path: str, body: Mapping[str, Any], seconds: float = _ANSWER_S
    ) -> dict[str, Any]:
        return self._ask(path, seconds, json=body)

    def _ask(self, path: str, seconds: float, **request: Any) -> dict[str, Any]:
        try:
            answer = self._http.post(path, timeout=seconds, **request)
        except httpx.TransportError as error:
            raise CoordinatorAway(
                f"the coordinator at {self._http.base_url} does not answer: {error!r}"
            ) from error
        fields: dict[str, Any] = _parsed(lambda: dict(answer.json()))
        if answer.status_code == 200:
            return fields
        text = f"the coordinator refused {path}: {fields.get('error', answer.status_code)}"
        if answer.status_code in _AWAY:
            raise CoordinatorAway(text)
        if answer.status_code in _ENDED:
            raise LeaseLost(text)
        raise CoordinatorRefused(text)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            yield piece


def _parsed(parse: Callable[[], T]) -> T:
    """The parsed answer; CoordinatorAway if it is not one of a coordinator's."""
    try:
        return parse()
    except (ValueError, KeyError, TypeError) as error:
        raise CoordinatorAway(f"what answers there is no coordinator: {error!r}") from error
