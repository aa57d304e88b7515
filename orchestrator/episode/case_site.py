"""The case's web site for one attempt: serves the case's pages and records every request.

It listens on loopback, which the phone reaches as 10.0.2.2. A request is recorded before it is
answered, so that a page on screen implies a receipt.
"""

from __future__ import annotations

import mimetypes
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from ..cases.model import Response

PHONES_HOST = "10.0.2.2"
MOST_BODY = 1 << 20
_DIGITS = 10  # of a Content-Length
MOST_KEPT = 16 << 20  # of all bodies together
MOST_REQUESTS = 10_000
MOST_FIELDS = 1000
KEPT_HEADERS = ("content-type", "referer", "user-agent", "cookie")
CONNECTION_S = 10.0
STOP_S = 5.0

THANKS = b"<!doctype html><title>Thank you</title><h1>Thank you</h1><p>We have received it.</p>"
NOT_FOUND = (
    b"<!doctype html><title>Not found</title><h1>Not found</h1><p>There is no such page.</p>"
)
Request = Mapping[str, Any]


@dataclass(frozen=True)
class Page:
    """One response, ready to be sent."""

    body: bytes
    kind: str = "text/html"
    status: int = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


class Site:
    """Listens from the start, so that the files that it will serve can contain its address."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._scripted: dict[tuple[str, str], Response] = {}
        self._requests: list[Request] = []
        self._forgotten = 0
        self._kept = 0  # bytes of bodies
        self._lock = threading.Lock()
        self._server = _SiteServer(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(STOP_S)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Its address as seen from the phone; it reveals nothing but a port."""
        return f"http://{PHONES_HOST}:{self.port}"

    def serve(self, files: Mapping[str, bytes], responses: Iterable[Response] = ()) -> None:
        """Serves these files, by path below the root; scripted responses take precedence."""
        self._files = {path.lstrip("/"): content for path, content in files.items()}
        self._scripted = {(each.method, each.path): each for each in responses}

    def requests(self) -> tuple[tuple[Request, ...], int]:
        """Every recorded request in order, and the number of requests that were not recorded."""
        with self._lock:
            return tuple(self._requests), self._forgotten

    def record(self, request: Request, body: bytes | None, *, form: bool = False) -> None:
        """`body` is None if it could not be read. A body that is not kept has no fields either."""
        with self._lock:
            if len(self._requests) >= MOST_REQUESTS:
                self._forgotten += 1
                return
            cut = body is None or self._kept + len(body) > MOST_KEPT
            kept = b"" if body is None or cut else body
            self._kept += len(kept)
            text = kept.decode("utf-8", "replace")
            fields = {**request["fields"], **(_fields(text) if form else {})}
            self._requests.append({**request, "fields": fields, "body": text, "body_cut": cut})

    def answer(self, method: str, path: str) -> Page:
        scripted = self._scripted.get(("GET" if method == "HEAD" else method, unquote(path)))
        if scripted is not None:
            headers: dict[str, str] = {str(k): v for k, v in scripted.headers.items()}
            kind = headers.pop("Content-Type", "text/html")
            return Page(scripted.body.encode(), kind, scripted.status, headers)
        if found := self._find(path):
            return found
        if method == "POST":
            return Page(THANKS)
        return Page(NOT_FOUND, status=HTTPStatus.NOT_FOUND)

    def _find(self, path: str) -> Page | None:
        """The file for an address; for a folder its index.html."""
        name = unquote(path).strip("/")
        for candidate in (name, f"{name}.html", f"{name}/index.html".lstrip("/")):
            if candidate in self._files:
                kind = mimetypes.guess_type(candidate)[0] or "application/octet-stream"
                return Page(self._files[candidate], kind)
        return None


class _SiteServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, site: Site) -> None:
        self.site = site
        super().__init__(("127.0.0.1", 0), _SiteHandler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints bugs to stderr, but not the loss of a connection."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _SiteHandler(BaseHTTPRequestHandler):
    server: _SiteServer
    timeout = CONNECTION_S

    def do_GET(self) -> None:
        self._serve(b"")

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        # Python refuses to parse a very long number; a chunked body has no length at all.
        readable = length.isdecimal() and len(length) <= _DIGITS and int(length) <= MOST_BODY
        readable = readable and "Transfer-Encoding" not in self.headers
        self._serve(self.rfile.read(int(length)) if readable else None)

    def _serve(self, body: bytes | None) -> None:
        address = urlsplit(self.path)
        site = self.server.site
        request = {
            "method": self.command,
            "path": unquote(address.path),
            "query": address.query,
            "fields": _fields(address.query),
            "headers": {name: self.headers[name] for name in KEPT_HEADERS if name in self.headers},
        }
        site.record(request, body, form="urlencoded" in self.headers.get("Content-Type", ""))
        if body is None:
            self._send(Page(NOT_FOUND, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE))
        else:
            self._send(site.answer(self.command, address.path))

    def _send(self, page: Page) -> None:
        self.send_response(page.status)
        text = page.kind.startswith("text/") or page.kind == "application/json"
        named = "charset=" in page.kind
        kind = f"{page.kind}; charset=utf-8" if text and not named else page.kind
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(page.body)))
        self.send_header("Cache-Control", "no-store")
        for name, value in page.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page.body)

    def version_string(self) -> str:
        return "site"

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing: the recorded requests have everything."""


def _fields(encoded: str) -> dict[str, list[str]]:
    """A form's values by name; empty if there are too many fields."""
    try:
        return parse_qs(encoded, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        return {}
