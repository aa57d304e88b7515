"""The supervisor's HTTP server: a strict HTTP/1.1 on loopback, for a few small requests.

Single-threaded on purpose: see children.py.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

TOKEN_HEADER = "x-emufarm-token"
_HEAD_LIMIT = 8192
_BODY_LIMIT = 4096
_READ_SECONDS = 5.0


@dataclass(frozen=True)
class ControlRequest:
    method: str
    path: str
    query: dict[str, str]
    token: str


@dataclass(frozen=True)
class ControlResponse:
    status: int
    body: bytes
    kind: str = "application/json"


Handler = Callable[[ControlRequest], Awaitable[ControlResponse]]


def as_json(status: int, value: object) -> ControlResponse:
    return ControlResponse(status, json.dumps(value, sort_keys=True).encode() + b"\n")


def refused(status: int, sentence: str) -> ControlResponse:
    return as_json(status, {"error": sentence})


class _RefusedError(Exception):
    def __init__(self, status: int, sentence: str) -> None:
        self.answer = refused(status, sentence)


def token_matches(given: str, token: str) -> bool:
    """Compared in constant time; an empty token never matches."""
    return bool(token) and hmac.compare_digest(given.encode(), token.encode())


async def serve(port: int, handle: Handler) -> asyncio.Server:
    """Listen on loopback; port 0 picks a free one."""

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answer = await _answer(reader, handle)
            head = (
                f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n"
                f"Content-Type: {answer.kind}\r\nContent-Length: {len(answer.body)}\r\n"
                "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + answer.body)
            async with asyncio.timeout(_READ_SECONDS):
                await writer.drain()
        except (ConnectionError, TimeoutError):
            pass  # the caller has disconnected
        finally:
            writer.close()

    return await asyncio.start_server(on_connection, "127.0.0.1", port, limit=_HEAD_LIMIT)


async def _answer(reader: asyncio.StreamReader, handle: Handler) -> ControlResponse:
    try:
        async with asyncio.timeout(_READ_SECONDS):
            request = await _read(reader)
    except _RefusedError as refusal:
        return refusal.answer
    except asyncio.LimitOverrunError:
        return refused(413, f"the request's head is longer than {_HEAD_LIMIT} bytes")
    except asyncio.IncompleteReadError:
        return refused(400, "the request ended early")
    except TimeoutError:
        return refused(400, f"no whole request came within {_READ_SECONDS:.0f} s")
    return await handle(request)


async def _read(reader: asyncio.StreamReader) -> ControlRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head[:-4].split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0") or not words[1].startswith("/"):
        raise _RefusedError(400, "not an HTTP/1.1 request")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip() or name.lower() in headers:
            raise _RefusedError(400, "a header is malformed or repeated")
        headers[name.lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise _RefusedError(400, "a body needs a Content-Length")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdecimal()):
        raise _RefusedError(400, "Content-Length is not a number")
    if len(length) > 9 or int(length) > _BODY_LIMIT:
        raise _RefusedError(413, f"the body is longer than {_BODY_LIMIT} bytes")
    await reader.readexactly(int(length))
    target = urlsplit(words[1])
    return ControlRequest(
        words[0], target.path, dict(parse_qsl(target.query)), headers.get(TOKEN_HEADER, "")
    )
