"""A host's web server on loopback: real sockets, answers by path, and everything asked of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    body: bytes = b""
    status: int = 200
    mime: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    body: str
    headers: dict[str, str]


@dataclass
class Site:
    port: int = 0
    pages: dict[str, Answer] = field(default_factory=dict)  # by path, without the query
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        """As the phone knows it."""
        return f"http://10.0.2.2:{self.port}"

    def page(self, path: str, html: str) -> None:
        self.pages[path] = Answer(html.encode())


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def reply(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            site.asked.append(Asked(self.command, self.path, body, headers))
            answer = site.pages.get(self.path.partition("?")[0], Answer(b"<p>Not here", 404))
            self.send_response(answer.status)
            if answer.mime:
                self.send_header("Content-Type", answer.mime)
            self.send_header("Content-Length", str(len(answer.body)))
            for name, value in answer.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_POST = reply  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@asynccontextmanager
async def saying(data: bytes, *, hold: bool = False) -> AsyncIterator[int]:
    """A server that answers every request with these bytes, whatever they are; its port. With
    `hold` it then keeps the line open and says nothing more."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(data)
            await writer.drain()
            if hold:
                await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # the phone has hung up, as it may
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
