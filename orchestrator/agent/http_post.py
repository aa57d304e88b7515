"""Sends one HTTP POST to an untrusted server: one connection, one deadline, one bounded answer.

It follows no redirect, uses no proxy and keeps no connection open, so the data goes to the URL's
host or nowhere. The deadline also ends an answer that trickles in.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..device.deadline import Deadline, DeadlineSocket, connect

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_RETRY_S = 0.05
_PORTS = {"http": 80, "https": 443}
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "User-Agent": "emufarm",
    "Connection": "close",
}


@dataclass(frozen=True)
class HttpUrl:
    """An http or https URL in its parts."""

    url: str
    host: str
    port: int
    path: str
    tls: bool


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    body: bytes  # at most one byte more than `limit`
    complete: bool  # False: the connection ended before the answer did


def parse_url(url: str) -> HttpUrl:
    """Raises ValueError where this is not a URL that can be published and posted to."""
    parts = urlsplit(url)
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("it has characters that a URL cannot have")
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("write http://HOST:PORT/PATH")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("leave out user, password, query and fragment: it is published")
    port = parts.port or _PORTS[parts.scheme]  # raises ValueError where it is out of range
    return HttpUrl(url, parts.hostname, port, parts.path or "/", parts.scheme == "https")


def post(
    to: HttpUrl, body: bytes, limit: int, deadline: Deadline, *, starting: bool = False
) -> HttpAnswer:
    """The answer, up to `limit` bytes. Raises TimeoutError, OSError where the server cannot be
    reached or disconnects, and HTTPException where it does not speak HTTP."""
    connection = http.client.HTTPConnection(to.host, to.port)
    connection.default_port = _PORTS["https" if to.tls else "http"]
    connection.sock = _connect(to, deadline, starting)
    try:
        connection.request("POST", to.path, body, _HEADERS)
        answer = connection.getresponse()
        read = answer.read(limit + 1)
        return HttpAnswer(answer.status, read, complete=len(read) > limit or not answer.length)
    except http.client.IncompleteRead as error:
        return HttpAnswer(0, error.partial, complete=False)
    finally:
        connection.close()


class _TlsSocket(ssl.SSLSocket):
    """A TLS socket with one deadline; a socket's own time-out restarts with every read."""

    deadline: Deadline

    def recv_into(self, buffer: WriteableBuffer, nbytes: int | None = None, flags: int = 0) -> int:
        self.settimeout(self.deadline.left())
        return super().recv_into(buffer, nbytes, flags)

    def send(self, data: ReadableBuffer, flags: int = 0) -> int:
        self.settimeout(self.deadline.left())
        return super().send(data, flags)


def _connect(to: HttpUrl, deadline: Deadline, starting: bool) -> socket.socket:
    plain = _connect_plain(to, deadline, starting)
    if not to.tls:
        return plain
    context = ssl.create_default_context()
    context.sslsocket_class = _TlsSocket
    try:
        plain.settimeout(deadline.left())  # of the whole handshake
        secured = context.wrap_socket(plain, server_hostname=to.host)
    except BaseException:
        plain.close()
        raise
    assert isinstance(secured, _TlsSocket)
    secured.deadline = deadline
    return secured


def _connect_plain(to: HttpUrl, deadline: Deadline, starting: bool) -> DeadlineSocket:
    """`starting`: retries while it is refused, as it is until the program listens."""
    while True:
        try:
            return _connect_once(to, deadline)
        except ConnectionRefusedError:
            if not starting:
                raise
            time.sleep(deadline.share(_RETRY_S))


def _connect_once(to: HttpUrl, deadline: Deadline) -> DeadlineSocket:
    """Tries the host's addresses in order. Raises the last error where none answers."""
    found = socket.getaddrinfo(to.host, to.port, type=socket.SOCK_STREAM)
    for number, (family, _, _, _, address) in enumerate(found, 1):
        try:
            return connect(address, deadline, family)
        except OSError:
            if number == len(found) or deadline.passed:
                raise
    raise OSError(f"{to.host} has no address")
