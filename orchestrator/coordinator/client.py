"""How does a worker speak to the coordinator? Each call may be repeated, so most of them are.

A coordinator that is away (restarted, moved, overloaded) is waited for within a bound; a lease that
has ended is said at once, because its holder must stop.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import httpx
from pydantic import TypeAdapter

from ..device.retry import COORDINATOR
from ..errors import EmufarmError
from ..evidence import archive, manifest
from .agents import AgentNews, Want
from .lease import Answer, Finished, Lease, Retired, Wait
from .messages import LEASE_HEADER, MANIFEST_HEADER, TOKEN_HEADER

_ANSWER_S = 30.0  # beyond what a long poll is held
_AGENT_S = 120.0  # an engine makes, starts and removes a container
_UPLOAD_S = 600.0
_CHUNK = 1 << 18
_AWAY = frozenset({502, 503, 504})
_ENDED = frozenset({404, 410})
_ANSWERS: dict[str, TypeAdapter[Any]] = {
    kind.__name__.lower(): TypeAdapter(kind) for kind in (Lease, Wait, Finished, Retired)
}
_NEWS: TypeAdapter[AgentNews] = TypeAdapter(AgentNews)

T = TypeVar("T")


class CoordinatorAway(EmufarmError):
    """Nobody answers there, or not now."""

    transient = True


class CoordinatorRefused(EmufarmError):
    """It answered, and said no; asking again would not help."""


class LeaseLost(EmufarmError):
    """The lease has ended: whatever is still done under it is not scored."""


class CoordinatorClient:
    """For one worker and its device. Safe to use from the thread that renews, too."""

    def __init__(self, url: str, secret: str, *, worker: str, device: str) -> None:
        self._worker = worker
        self._device = device
        headers = {TOKEN_HEADER: secret}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=_ANSWER_S, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def lease(self, wait: float = 20.0) -> Answer:
        """The next lease; held at the coordinator for at most so long."""
        # One name for all tries: a lease whose answer was lost on the way is given again.
        ask = secrets.token_hex(8)
        body = {"worker": self._worker, "device": self._device, "ask": ask, "wait": wait}
        told = COORDINATOR(lambda: self._post("/v1/lease", body, wait + _ANSWER_S))
        answer: Answer = _told(lambda: _ANSWERS[told.pop("answer")].validate_python(told))
        return answer

    def renew(self, token: str) -> float:
        """Seconds until it ends; LeaseLost where it has. Not repeated: the next beat is."""
        told = self._post("/v1/renew", {"token": token})
        return _told(lambda: float(told["expires_s"]))

    def commit(self, token: str, bundle: Path) -> Literal["committed", "fenced"]:
        """Send a sealed bundle; on return it is durable there. `fenced`: it came too late.

        LeaseLost where the run cannot keep it at all.
        """
        packed = bundle.with_name(f"{bundle.name}.tar.zst")
        digest = manifest.digest(bundle)
        archive.pack(bundle, packed)
        try:
            told = COORDINATOR(lambda: self._upload(token, digest, packed))
        finally:
            packed.unlink()
        result: Literal["committed", "fenced"] = "fenced"
        if told.get("result") == "committed":
            result = "committed"
        return result

    def give_back(self, token: str, reason: str) -> None:
        """The attempt did not happen: its bundle is not kept, and its number is given again."""
        with suppress(LeaseLost):  # it ended by itself: there is nothing left to give back
            COORDINATOR(lambda: self._post("/v1/return", {"token": token, "reason": reason}))

    def agent(self, want: Want) -> AgentNews:
        """Of this device's agent in a container. Repeated, it comes to the same."""
        body = {"device": self._device, "want": want}
        told = COORDINATOR(lambda: self._post("/v1/agent", body, _AGENT_S))
        news: AgentNews = _told(lambda: _NEWS.validate_python(told))
        return news

    def device_started(self, facts: Mapping[str, Any]) -> None:
        self._note({"event": "started", "worker": self._worker, "facts": dict(facts)})

    def device_failed(self, phase: Literal["provision", "boot"], reason: str, text: str) -> None:
        self._note({"event": "failed", "phase": phase, "reason": reason, "text": text[:4000]})

    def _note(self, fields: dict[str, Any]) -> None:
        body = {"device": self._device, "note": secrets.token_hex(8), **fields}
        COORDINATOR(lambda: self._post("/v1/device", body))

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
        told: dict[str, Any] = _told(lambda: dict(answer.json()))
        if answer.status_code == 200:
            return told
        text = f"the coordinator refused {path}: {told.get('error', answer.status_code)}"
        if answer.status_code in _AWAY:
            raise CoordinatorAway(text)
        if answer.status_code in _ENDED:
            raise LeaseLost(text)
        raise CoordinatorRefused(text)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            yield piece


def _told(read: Callable[[], T]) -> T:
    """What the answer says, where it is one of the coordinator's."""
    try:
        return read()
    except (ValueError, KeyError, TypeError) as error:
        raise CoordinatorAway(f"what answers there is no coordinator: {error!r}") from error
