"""Bounds what a connection to the HTTP server may cost, above all before its sender is known.

A connection is a stranger's until one of its requests has a secret, and ends with its answer if it
still is. Strangers share a small number of places and have a short time; beyond that number the
oldest idle one gives way, so a newcomer that sends its request at once is always heard. Whoever is
known has places of its own: no number of strangers takes a worker's connection away.

Of uvicorn's settings none bounds a request's head: not its time, and its size only with another
parser. So this is uvicorn's own protocol, watched from outside.
"""

from __future__ import annotations

import asyncio
import json
import resource
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import httptools
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

_EXTENSION = "emufarm"  # of a request's scope, which has its connection


@dataclass(frozen=True)
class ConnectionLimits:
    head_bytes: int = 16 << 10  # of a request: its line and its headers
    head_s: float = 10.0  # from its first byte; a new connection's, from its beginning
    strangers: int = 256
    stranger_s: float = 30.0  # the life of a stranger's connection
    of_one: int = 64  # connections of one known sender
    discard_s: float = 10.0  # after an answer to a stranger who is still sending


LIMITS = ConnectionLimits()


class Connections:
    """Those of one server. A stranger's sender is None."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        few = limits.strangers if files == resource.RLIM_INFINITY else max(files // 4, 1)
        self._strangers = min(limits.strangers, few)
        self._places: defaultdict[str | None, dict[BoundedProtocol, None]] = defaultdict(dict)

    def enter(self, connection: BoundedProtocol, sender: str | None) -> None:
        """Give it a place, if need be that of the oldest idle one among its own kind."""
        places = self._places[sender]
        places[connection] = None
        most = self._strangers if sender is None else self.limits.of_one
        if len(places) > most:
            _giving_way(places).drop()

    def leave(self, connection: BoundedProtocol, sender: str | None) -> None:
        self._places[sender].pop(connection, None)
        if not self._places[sender]:
            del self._places[sender]


def _giving_way(places: Iterable[BoundedProtocol]) -> BoundedProtocol:
    """The oldest idle one; where all are busy, the newest."""
    found = list(places)
    return next((each for each in found if each.idle), found[-1])


def mark_known(request: Request, sender: str) -> None:
    """This request had a secret: its connection is no stranger's any more."""
    own = request.scope.get("extensions", {}).get(_EXTENSION, {})
    if (connection := own.get("connection")) is not None:
        connection.known_as(sender)


class BoundedConfig(uvicorn.Config):
    def __init__(self, app: Starlette, limits: ConnectionLimits, **options: Any) -> None:
        super().__init__(app, http=BoundedProtocol, ws="none", **options)
        self.bounded = Connections(limits)


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Its parser gets pieces no longer than a head may be."""

    config: BoundedConfig
    parser: httptools.HttpRequestParser

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._all = self.config.bounded
        self._limits = self._all.limits
        self._sender: str | None = None
        self.idle = True  # no request of it is being answered
        self._in_head = True  # or before it
        self._head_bytes = 0
        self._discarding = False  # what comes is not read any more
        self._lasting = False  # its sender wants it to stay open after the answer
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._set("head", self._limits.head_s, self._head_too_slow)
        self._set("life", self._limits.stranger_s, self.drop)
        self._all.enter(self, None)

    def connection_lost(self, exc: Exception | None) -> None:
        for name in list(self._timers):
            self._unset(name)
        self._all.leave(self, self._sender)
        super().connection_lost(exc)

    def known_as(self, sender: str) -> None:
        if sender == self._sender or self.transport.is_closing():
            return
        self._unset("life")
        self._all.leave(self, self._sender)
        self._sender = sender
        self.cycle.keep_alive = self._lasting
        self._all.enter(self, sender)

    def drop(self) -> None:
        """Its place is needed, or its time is over."""
        if self.idle:
            self.transport.abort()
        else:
            self.transport.close()  # what is being answered gets what is written by now

    def data_received(self, data: bytes) -> None:
        size = self._limits.head_bytes
        for start in range(0, len(data), size):
            if self._discarding or self.transport.is_closing():
                return
            piece = data[start : start + size]
            self._head_bytes += len(piece)
            super().data_received(piece)
            if self._in_head and self._head_bytes >= size:
                self._refuse(431, f"the request's head is longer than {size} bytes")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {_EXTENSION: {"connection": self}}
        if "head" not in self._timers:
            self._set("head", self._limits.head_s, self._head_too_slow)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # what follows a body in chunks is nothing that anybody reads
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unset("head")
        self._in_head, self._head_bytes = False, 0
        if self._discarding:
            return
        if not self.idle:  # nobody of ours sends a request before the answer to the last one
            self._discarding = self.cycle.keep_alive = True
            return
        self.idle = False
        super().on_headers_complete()
        self._lasting = self.cycle.keep_alive

    def on_body(self, body: bytes) -> None:
        if not self._discarding:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head, self._head_bytes = True, 0
        if not self._discarding:
            super().on_message_complete()
            # A stranger that came again on this connection might find its time over.
            self.cycle.keep_alive = self._lasting and self._sender is not None

    def on_response_complete(self) -> None:
        self.idle = True
        if self._sender is None and self.cycle.more_body:  # refused while it is still sending
            self._discarding = True
        super().on_response_complete()
        if self._discarding:
            self._unset("head")
            self._set("life", self._limits.discard_s, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _head_too_slow(self) -> None:
        self._unset("head")
        if self._head_bytes:
            seconds = self._limits.head_s
            self._refuse(408, f"no whole head of a request within {seconds:g} s")
        else:
            self.transport.close()

    def _refuse(self, status: int, sentence: str) -> None:
        """Of what is no request yet: no application answers it."""
        self._discarding = True
        if self.transport.is_closing():
            return
        body = json.dumps({"error": sentence}).encode()
        head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(STATUS_LINE[status] + head.encode() + b"connection: close\r\n\r\n")
        self.transport.write(body)
        if self.transport.can_write_eof():
            self.transport.write_eof()  # closed at once, it could not be read where more is coming
        self._set("life", self._limits.discard_s, self.transport.abort)

    def _set(self, name: str, seconds: float, action: Any) -> None:
        self._unset(name)
        self._timers[name] = self.loop.call_later(seconds, action)

    def _unset(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()
