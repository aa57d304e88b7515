"""The case's web site, for one attempt: serves its files and remembers every request.

On loopback, which the phone reaches as 10.0.2.2. A request is remembered before it is answered:
whoever sees the page finds the receipt.
"""

from __future__ import annotations

import mimetypes
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

PHONES_HOST = "10.0.2.2"
MOST_BODY = 1 << 20
MOST_KEPT_BODY = 1 << 16
MOST_RECEIPTS = 10_000
MOST_FIELDS = 1000
KEPT_HEADERS = ("content-type", "referer", "user-agent", "cookie")
CONNECTION_S = 10.0
STOP_S = 5.0

THANKS = b"<!doctype html><title>Thank you</title><h1>Thank you</h1><p>We have received it.</p>"
NOT_FOUND = (
    b"<!doctype html><title>Not found</title><h1>Not found</h1><p>There is no such page.</p>"
)
Receipt = Mapping[str, Any]


class Site:
    """Listens from the start, so that its address can be written into the files it will serve."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._receipts: list[Receipt] = []
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Its address as the phone types it; it names nothing but a port."""
        return f"http://{PHONES_HOST}:{self.port}"

    def serve(self, files: Mapping[str, bytes]) -> None:
        """From now on it serves these, by their path below its root."""
        self._files = {path.lstrip("/"): content for path, content in files.items()}

    def receipts(self) -> tuple[Receipt, ...]:
        """Every request so far, in order."""
        with self._lock:
            return tuple(self._receipts)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(STOP_S)

    def remember(self, receipt: Receipt) -> None:
        with self._lock:
            if len(self._receipts) < MOST_RECEIPTS:
                self._receipts.append(receipt)

    def find(self, path: str) -> tuple[bytes, str] | None:
        """The file of an address and its type; a folder's is its index.html."""
        name = unquote(path).strip("/")
        for candidate in (name, f"{name}.html", f"{name}/index.html".lstrip("/")):
            if candidate in self._files:
                kind = mimetypes.guess_type(candidate)[0] or "application/octet-stream"
                return self._files[candidate], kind
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, site: Site) -> None:
        self.site = site
        super().__init__(("127.0.0.1", 0), _Visitor)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A visitor that went away in the middle: not worth a word on our stderr."""


class _Visitor(BaseHTTPRequestHandler):
    server: _Server
    timeout = CONNECTION_S

    def do_GET(self) -> None:
        self._serve(b"")

    def do_HEAD(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MOST_BODY:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, NOT_FOUND, "text/html")
            return
        self._serve(self.rfile.read(int(length)))

    def _serve(self, body: bytes) -> None:
        address = urlsplit(self.path)
        fields = _fields(address.query)
        if "urlencoded" in self.headers.get("Content-Type", ""):
            fields |= _fields(body.decode("utf-8", "replace"))
        site = self.server.site
        site.remember(
            {
                "method": self.command,
                "path": unquote(address.path),
                "query": address.query,
                "fields": fields,
                "headers": {
                    name: self.headers[name] for name in KEPT_HEADERS if name in self.headers
                },
                "body": body[:MOST_KEPT_BODY].decode("utf-8", "replace"),
            }
        )
        found = site.find(address.path)
        if found is not None:
            self._answer(HTTPStatus.OK, *found)
        elif self.command == "POST":
            self._answer(HTTPStatus.OK, THANKS, "text/html")
        else:
            self._answer(HTTPStatus.NOT_FOUND, NOT_FOUND, "text/html")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        text = kind.startswith("text/") or kind == "application/json"
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if text else kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def version_string(self) -> str:
        return "site"

    def log_message(self, format: str, *args: object) -> None:
        """The receipts say it all."""


def _fields(encoded: str) -> dict[str, list[str]]:
    """A form's values by name; what is too much to be one is none."""
    try:
        return parse_qs(encoded, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        return {}
