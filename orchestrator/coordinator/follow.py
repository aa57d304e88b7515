"""Follows a run from elsewhere: copies its journal as it grows, reads its state and its files.

The copy is the journal itself, byte by byte, so it is verified as the journal is, and a broken
connection costs nothing: the next call goes on where the copy ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Self

import httpx

from ..device.retry import coordinator_policy
from ..errors import EmufarmError
from .chain import parse_line, segment_name
from .client import CoordinatorAway
from .ledger import SegmentLength
from .messages import TOKEN_HEADER
from .transitions import Event

_ANSWER_S = 30.0  # beyond the time that a request waits
_FILE_S = 120.0  # between two pieces of a file
UrlQuery = Mapping[str, str | int]


class AdminClient:
    """A client with the admins' secret. Every call may be repeated, and is while the coordinator is
    away, for a bounded time."""

    def __init__(self, http: httpx.Client, secret: str, away_s: float = 60.0) -> None:
        """`http` leads to the coordinator, and is closed with this client."""
        self._http = http
        self._http.headers[TOKEN_HEADER] = secret
        self._retry = coordinator_policy(away_s)

    @classmethod
    def at(cls, url: str, secret: str, away_s: float = 60.0) -> Self:
        """Of a coordinator that is reached directly."""
        return cls(httpx.Client(base_url=url, timeout=_ANSWER_S, trust_env=False), secret, away_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def state(self) -> dict[str, Any]:
        return dict(self._get("/v1/state").json())

    def notices(self, after: int) -> dict[str, Any]:
        """`count`, the `lines` after so many, and `served_only`: nothing is added any more."""
        return dict(self._get("/v1/notices", {"after": after}).json())

    def intake(self) -> dict[str, Any]:
        return dict(self._get("/v1/intake").json())

    def send(self, name: str, content: bytes) -> None:
        """A document of a run that begins."""
        self._retry(lambda: self._ask("PUT", f"/v1/documents/{name}", {}, _FILE_S, content))

    def pulled(self) -> None:
        """All of the ended run is here."""
        self._retry(lambda: self._ask("POST", "/v1/pulled", {}, _ANSWER_S))

    def segments(self, after: int, wait: int) -> list[SegmentLength]:
        answer = self._get("/v1/journal", {"after": after, "wait": wait}, wait + _ANSWER_S)
        return [SegmentLength(each["claim"], each["length"]) for each in answer.json()]

    def segment(self, claim: int, start: int) -> bytes:
        return self._get(f"/v1/journal/{claim}", {"from": start}).content

    def logs(self) -> list[str]:
        """The names of the run's logs, which `file` reads."""
        return [str(name) for name in self._get("/v1/logs").json()]

    def file(self, name: str) -> bytes:
        """A document of the run's folder."""
        return self._get("/v1/file", {"name": name}, _FILE_S).content

    def bundle(
        self, folder: str, target: IO[bytes], check: Callable[[int], None] = lambda size: None
    ) -> None:
        """Writes the archive of a stored bundle to this file. `check` is told how long it is by
        then, before each piece; what it raises ends the request."""
        self._retry(lambda: self._download("/v1/bundle", {"folder": folder}, target, check))

    def _download(
        self, path: str, query: UrlQuery, target: IO[bytes], check: Callable[[int], None]
    ) -> None:
        target.seek(0)
        target.truncate()
        try:
            with self._http.stream("GET", path, params=query, timeout=_FILE_S) as answer:
                if answer.status_code != httpx.codes.OK:
                    answer.read()
                _require_ok(answer, path)
                size = 0
                for piece in answer.iter_bytes():
                    size += len(piece)
                    check(size)
                    target.write(piece)
        except httpx.TransportError as error:
            raise CoordinatorAway(f"the coordinator went away during {path}: {error!r}") from error
        target.seek(0)

    def _get(
        self, path: str, query: UrlQuery | None = None, seconds: float = _ANSWER_S
    ) -> httpx.Response:
        return self._retry(lambda: self._ask("GET", path, query or {}, seconds))

    def _ask(
        self, method: str, path: str, query: UrlQuery, seconds: float, content: bytes | None = None
    ) -> httpx.Response:
        try:
            answer = self._http.request(
                method, path, params=query, content=content, timeout=seconds
            )
        except httpx.TransportError as error:
            text = f"the coordinator at {self._http.base_url} does not answer: {error!r}"
            raise CoordinatorAway(text) from error
        _require_ok(answer, path)
        return answer


def _require_ok(answer: httpx.Response, path: str) -> None:
    if answer.status_code == httpx.codes.OK:
        return
    own, why = _why(answer)
    # It, or whoever leads to it, fails at a request for a moment: it starts, or its volume is away.
    if answer.is_server_error or answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
        raise CoordinatorAway(f"the coordinator does not answer {path}: {why}")
    raise AdminRefused(answer.status_code, f"the coordinator refused {path}: {why}", own=own)


def _why(answer: httpx.Response) -> tuple[bool, str]:
    """Whether it is the coordinator that refused, and not the API server whose proxy leads to it;
    and the sentence."""
    try:
        body = answer.json()
        own = bool(body.get("error"))
        return own, str(body["error"] if own else body["message"])[:500]
    except (ValueError, KeyError, AttributeError):
        return False, answer.text[:200]


class AdminRefused(EmufarmError):
    """The coordinator, or whoever leads to it, refused a request."""

    def __init__(self, status: int, text: str, *, own: bool) -> None:
        super().__init__(text)
        self.status = status
        self.own = own  # it was the coordinator itself

    @property
    def forbidden(self) -> bool:
        """It does not know whoever asks, or does not permit it; an API server that was just started
        says so to everybody."""
        return self.status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)


class JournalCopy:
    """A run's journal in a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._known = sum(_whole_lines(path) for path in folder.glob("*.jsonl"))

    def update(self, client: AdminClient, wait: int) -> list[Event]:
        """The events that were added since; it waits for some at most these seconds."""
        events = []
        for segment in client.segments(self._known, wait):
            path = self._folder / segment_name(segment.claim)
            have = path.stat().st_size if path.exists() else 0
            if have > segment.length:
                raise EmufarmError(f"{path} is longer than the coordinator's: it is another run's")
            while have < segment.length:
                piece = client.segment(segment.claim, have)
                if not piece:
                    raise CoordinatorAway(f"the coordinator gave nothing of {path.name}")
                _append(path, piece)
                have += len(piece)
                self._known += len(piece)
                events += [parse_line(path, 0, line)[1] for line in piece.splitlines(keepends=True)]
        return events


def _whole_lines(path: Path) -> int:
    """How long the copy is, once the torn line of a copy that was interrupted is cut."""
    length = path.read_bytes().rfind(b"\n") + 1
    os.truncate(path, length)
    return length


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
