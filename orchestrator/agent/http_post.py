"""One POST to somebody who may do anything: one connection, one deadline, one bounded answer.

No redirect is followed, no proxy is asked, nothing is kept open: what is sent goes to the URL's own
host or nowhere, and a peer that trickles is left when its time is over.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..device.deadline import Deadline, DeadlineSocket

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_LOOK_S = 0.05
_PORTS = {"http": 80, "https": 443}
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "User-Agent": "emufarm",
    "Connection": "close",
}


@dataclass(frozen=True)
class HttpUrl:
    """An http or https URL, taken apart."""

    url: str
    host: str
    port: int
    path: str
    tls: bool


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    body: bytes  # one byte more than was asked for, at most
    whole: bool  # False: the connection ended before it was


def parse_url(url: str) -> HttpUrl:
    """ValueError, in a few words, where it is no URL that can be published and posted to."""
    parts = urlsplit(url)
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("it has characters that no URL has")
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("write http://HOST:PORT/PATH")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("leave out user, password, query and fragment: it is published")
    port = parts.port or _PORTS[parts.scheme]  # a ValueError of its own where it is out of range
    return HttpUrl(url, parts.hostname, port, parts.path or "/", parts.scheme == "https")


def post(
    to: HttpUrl, body: bytes, most: int, deadline: Deadline, *, coming: bool = False
) -> HttpAnswer:
    """TimeoutError; OSError where it is not reached or goes away; HTTPException for nonsense.
    `coming`: somebody will listen there, and is waited for."""
    connection = http.client.HTTPConnection(to.host, to.port)
    connection.default_port = _PORTS["https" if to.tls else "http"]
    connection.sock = _connected(to, deadline, coming)
    try:
        connection.request("POST", to.path, body, _HEADERS)
        answer = connection.getresponse()
        read = answer.read(most + 1)
        return HttpAnswer(answer.status, read, whole=len(read) > most or not answer.length)
    except http.client.IncompleteRead as error:
        return HttpAnswer(0, error.partial, whole=False)
    finally:
        connection.close()


class _TlsSocket(ssl.SSLSocket):
    """As DeadlineSocket: a socket's own time-out starts anew with every read."""

    deadline: Deadline

    def recv_into(self, buffer: WriteableBuffer, nbytes: int | None = None, flags: int = 0) -> int:
        self.settimeout(self.deadline.left())
        return super().recv_into(buffer, nbytes, flags)

    def send(self, data: ReadableBuffer, flags: int = 0) -> int:
        self.settimeout(self.deadline.left())
        return super().send(data, flags)


def _connected(to: HttpUrl, deadline: Deadline, coming: bool) -> socket.socket:
    plain = _awaited(to, deadline) if coming else _reached(to, deadline)
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


def _awaited(to: HttpUrl, deadline: Deadline) -> DeadlineSocket:
    """Refused is what a host says whose program is still on its way."""
    while True:
        try:
            return _reached(to, deadline)
        except ConnectionRefusedError:
            time.sleep(deadline.share(_LOOK_S))


def _reached(to: HttpUrl, deadline: Deadline) -> DeadlineSocket:
    """By the first of its addresses that answers; the last one's error where none does."""
    found = socket.getaddrinfo(to.host, to.port, type=socket.SOCK_STREAM)
    for number, (family, kind, protocol, _, place) in enumerate(found, 1):
        connection = DeadlineSocket(family, kind, protocol)
        connection.deadline = deadline
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(deadline.left())
            connection.connect(place)
            return connection
        except OSError:
            connection.close()
            if number == len(found) or deadline.passed:
                raise
    raise OSError(f"{to.host} has no address")
