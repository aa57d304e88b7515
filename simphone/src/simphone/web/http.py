"""One HTTP/1.1 exchange over a wire: a request out, a reply in, with every length bounded.

The names of failures are those of Chrome's error pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ..adbd.network import Wire

HEAD_LIMIT = 65536
HEADERS_LIMIT = 200
STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: (.*))?")
FIELD_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;.*)?")
BODILESS = (204, 205, 304)


class NetError(Exception):
    """A page that cannot be had, by Chrome's name for the reason."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Request:
    method: str
    authority: str
    target: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""

    def encoded(self) -> bytes:
        fields = [("Host", self.authority), *self.headers, ("Connection", "close")]
        if self.body or self.method == "POST":
            fields.append(("Content-Length", str(len(self.body))))
        lines = [f"{self.method} {self.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields]
        return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace") + self.body


@dataclass(frozen=True)
class Reply:
    status: int
    headers: tuple[tuple[str, str], ...]  # names in lower case
    body: bytes = field(repr=False, default=b"")

    def header(self, name: str) -> str:
        return next((value for known, value in self.headers if known == name), "")

    def all(self, name: str) -> list[str]:
        return [value for known, value in self.headers if known == name]


class Reader:
    """Lines and counted bytes of a wire."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._held = bytearray()
        self._scanned = 0  # no line end before here
        self.begun = False  # whether anything has come at all

    async def _more(self) -> bool:
        data = await self._wire.read()
        self._held += data
        self.begun = self.begun or bool(data)
        return bool(data)

    async def line(self, limit: int) -> bytes:
        """Without its end; EOFError where the wire ends first, OverflowError past the limit."""
        while (end := self._held.find(b"\n", self._scanned)) < 0:
            self._scanned = len(self._held)
            if self._scanned > limit:
                raise OverflowError
            if not await self._more():
                raise EOFError
        if end > limit:
            raise OverflowError
        return self._take(end + 1).rstrip(b"\r\n")

    async def exactly(self, count: int) -> bytes:
        while len(self._held) < count:
            if not await self._more():
                raise EOFError
        return self._take(count)

    async def rest(self, limit: int) -> bytes:
        while len(self._held) <= limit and await self._more():
            pass
        if len(self._held) > limit:
            raise OverflowError
        return self._take(len(self._held))

    def _take(self, count: int) -> bytes:
        taken = bytes(self._held[:count])
        del self._held[:count]
        self._scanned = 0
        return taken


async def exchange(wire: Wire, request: Request, limit: Callable[[Reply], int]) -> Reply:
    """NetError for every reply that is not whole and well formed; `limit` bounds the body, by
    what the head says it is."""
    try:
        await wire.write(request.encoded())
    except OSError as error:
        raise NetError("ERR_CONNECTION_RESET") from error
    reader = Reader(wire)
    try:
        status, headers = await read_head(reader)
        while status < 200 and status != 101:
            status, headers = await read_head(reader)
        reply = Reply(status, headers)
        if request.method == "HEAD" or status in BODILESS:
            return reply
        return Reply(status, headers, await read_body(reader, reply, limit(reply)))
    except EOFError:
        code = "ERR_CONNECTION_CLOSED" if reader.begun else "ERR_EMPTY_RESPONSE"
        raise NetError(code) from None
    except OSError as error:
        raise NetError("ERR_CONNECTION_RESET") from error


async def read_head(reader: Reader) -> tuple[int, tuple[tuple[str, str], ...]]:
    try:
        first = STATUS.fullmatch(await reader.line(HEAD_LIMIT))
        if first is None:
            raise NetError("ERR_INVALID_HTTP_RESPONSE")
        headers: list[tuple[str, str]] = []
        room = HEAD_LIMIT
        while line := await reader.line(room):
            room -= len(line)
            if room < 0 or len(headers) == HEADERS_LIMIT:
                raise OverflowError
            name, colon, value = line.partition(b":")
            if not colon or not FIELD_NAME.fullmatch(name):
                raise NetError("ERR_INVALID_HTTP_RESPONSE")
            headers.append((name.decode().lower(), value.strip().decode("utf-8", "replace")))
    except OverflowError:
        raise NetError("ERR_RESPONSE_HEADERS_TOO_BIG") from None
    return int(first[1]), tuple(headers)


async def read_body(reader: Reader, reply: Reply, limit: int) -> bytes:
    if reply.header("content-encoding").lower() not in ("", "identity"):
        raise NetError("ERR_CONTENT_DECODING_FAILED")  # none was asked for
    transfer = reply.header("transfer-encoding").lower()
    try:
        if transfer == "chunked":
            return await read_chunks(reader, limit)
        if transfer:
            raise NetError("ERR_INVALID_HTTP_RESPONSE")
        lengths = set(split_lengths(reply))
        if not lengths:
            return await reader.rest(limit)
    except OverflowError:
        raise NetError("ERR_FILE_TOO_BIG") from None
    if len(lengths) > 1:
        raise NetError("ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH")
    length = lengths.pop()
    if not (length.isascii() and length.isdecimal()):
        raise NetError("ERR_INVALID_HTTP_RESPONSE")
    if len(length) > 12 or int(length) > limit:
        raise NetError("ERR_FILE_TOO_BIG")
    try:
        return await reader.exactly(int(length))
    except EOFError:
        raise NetError("ERR_CONTENT_LENGTH_MISMATCH") from None


def split_lengths(reply: Reply) -> Iterator[str]:
    for value in reply.all("content-length"):
        yield from (part.strip() for part in value.split(","))


async def read_chunks(reader: Reader, limit: int) -> bytes:
    body = bytearray()
    try:
        while True:
            size = CHUNK_SIZE.fullmatch(await reader.line(1024))
            if size is None:
                raise NetError("ERR_INVALID_CHUNKED_ENCODING")
            if not (count := int(size[1], 16)):
                break
            if len(body) + count > limit:
                raise OverflowError
            body += await reader.exactly(count)
            if await reader.line(2):
                raise NetError("ERR_INVALID_CHUNKED_ENCODING")
    except EOFError:
        raise NetError("ERR_INCOMPLETE_CHUNKED_ENCODING") from None
    return bytes(body)  # trailers are of no use here, and the wire is not used again
