"""One HTTP/1.1 exchange over a wire: a request out, a reply in, with every length bounded.

The protocol is h11's; the names of failures are those of Chrome's error pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..adbd.network import Wire

if TYPE_CHECKING:
    import h11

HEAD_LIMIT = 65536
HEADERS_LIMIT = 200
MAGIC = b"HTTP/"
NOTHING_SENT = 205  # the one status without a body that h11 does not know


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

    def fields(self) -> list[tuple[bytes, bytes]]:
        fields = [("Host", self.authority), *self.headers, ("Connection", "close")]
        if self.body or self.method == "POST":
            fields.append(("Content-Length", str(len(self.body))))
        return [(name.encode(), value.encode("utf-8", "replace")) for name, value in fields]


@dataclass(frozen=True)
class Reply:
    status: int
    headers: tuple[tuple[str, str], ...]  # names in lower case
    body: bytes = field(repr=False, default=b"")

    def header(self, name: str) -> str:
        return next((value for known, value in self.headers if known == name), "")

    def all(self, name: str) -> list[str]:
        return [value for known, value in self.headers if known == name]


async def exchange(wire: Wire, request: Request, limit: Callable[[Reply], int]) -> Reply:
    """NetError for every reply that is not whole and well formed; `limit` bounds the body, by
    what the head says it is."""
    return await Exchange(wire).run(request, limit)


class Exchange:
    def __init__(self, wire: Wire) -> None:
        import h11  # here, because a phone that opens no page need not wait for it

        self._h11 = h11
        self._wire = wire
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT)
        self._start = b""  # the first bytes that came
        self._ended = False  # nothing more will

    async def run(self, request: Request, limit: Callable[[Reply], int]) -> Reply:
        try:
            await self._wire.write(self._encoded(request))
            head = await self._head()
            if head.status == NOTHING_SENT:
                return head
            return Reply(head.status, head.headers, await self._body(head, limit(head)))
        except OSError as error:
            raise NetError("ERR_CONNECTION_RESET") from error

    def _encoded(self, request: Request) -> bytes:
        h11, send = self._h11, self._connection.send
        try:
            head = h11.Request(
                method=request.method, target=request.target, headers=request.fields()
            )
            parts = [send(head), send(h11.Data(data=request.body)), send(h11.EndOfMessage())]
        except h11.LocalProtocolError as error:
            raise NetError("ERR_INVALID_ARGUMENT") from error
        return b"".join(part or b"" for part in parts)

    async def _event(self) -> object:
        while (event := self._connection.next_event()) is self._h11.NEED_DATA:
            data = await self._wire.read()
            self._ended = not data
            self._start = (self._start + data[: len(MAGIC)])[: len(MAGIC)]
            if not MAGIC.startswith(self._start):  # h11 would wait for an empty line
                raise NetError("ERR_INVALID_HTTP_RESPONSE")
            self._connection.receive_data(data)
        return event

    async def _head(self) -> Reply:
        try:
            event = await self._event()
            while isinstance(event, self._h11.InformationalResponse):
                event = await self._event()
        except self._h11.RemoteProtocolError as error:
            raise NetError(self._head_failure(error)) from None
        if not isinstance(event, self._h11.Response):
            raise NetError("ERR_EMPTY_RESPONSE")
        if not event.http_version.startswith(b"1.") or event.status_code >= 600:
            raise NetError("ERR_INVALID_HTTP_RESPONSE")
        if len(event.headers) > HEADERS_LIMIT:
            raise NetError("ERR_RESPONSE_HEADERS_TOO_BIG")
        headers = (
            (name.decode(), value.decode("utf-8", "replace")) for name, value in event.headers
        )
        return Reply(event.status_code, tuple(headers))

    def _head_failure(self, error: h11.RemoteProtocolError) -> str:
        if self._ended:
            return "ERR_CONNECTION_CLOSED" if self._start else "ERR_EMPTY_RESPONSE"
        if error.error_status_hint == 431:
            return "ERR_RESPONSE_HEADERS_TOO_BIG"
        if "conflicting Content-Length" in str(error):
            return "ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH"
        return "ERR_INVALID_HTTP_RESPONSE"

    async def _body(self, head: Reply, limit: int) -> bytes:
        if head.header("content-encoding").lower() not in ("", "identity"):
            raise NetError("ERR_CONTENT_DECODING_FAILED")  # none was asked for
        chunked = bool(head.header("transfer-encoding"))
        if not chunked and int(head.header("content-length") or 0) > limit:
            raise NetError("ERR_FILE_TOO_BIG")
        body = bytearray()
        try:
            while isinstance(event := await self._event(), self._h11.Data):
                body += event.data
                if len(body) > limit:
                    raise NetError("ERR_FILE_TOO_BIG")
        except self._h11.RemoteProtocolError:
            if not chunked:
                raise NetError("ERR_CONTENT_LENGTH_MISMATCH") from None
            whole = "INCOMPLETE" if self._ended else "INVALID"
            raise NetError(f"ERR_{whole}_CHUNKED_ENCODING") from None
        return bytes(body)
