"""A server on a real socket that answers HTTP, or any other bytes that a test gives it."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

PATIENCE_S = 60.0

Deed = Callable[[socket.socket], None]


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers)
    return "\r\n".join((*lines, "", "")).encode() + body


def said(value: Any) -> bytes:
    return answer(json.dumps(value).encode())


class Server:
    """Answers one request after another, each in the next of its ways; remembers all of them."""

    def __init__(self, *deeds: bytes | Deed, port: int = 0, tls: ssl.SSLContext | None = None):
        self._listening = socket.create_server(("127.0.0.1", port))
        self._deeds = iter(deeds)
        self._tls = tls
        self._over = threading.Event()
        self.heads: list[str] = []
        self.bodies: list[Any] = []
        scheme, host = ("https", "localhost") if tls else ("http", "127.0.0.1")
        self.url = f"{scheme}://{host}:{self._listening.getsockname()[1]}/act"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                wire, _ = self._listening.accept()
            except OSError:
                return
            with wire:
                try:
                    self._one(self._tls.wrap_socket(wire, server_side=True) if self._tls else wire)
                except OSError:  # whoever asked has left
                    continue

    def _one(self, wire: socket.socket) -> None:
        with wire, wire.makefile("rb") as asked:
            head = b"".join(iter(asked.readline, b"\r\n"))
            if not head:
                return
            self.heads.append(head.decode())
            length = next(
                int(line.split(":")[1])
                for line in head.decode().splitlines()
                if line.lower().startswith("content-length")
            )
            self.bodies.append(json.loads(asked.read(length)))
            deed = next(self._deeds)
            wire.sendall(deed) if isinstance(deed, bytes) else deed(wire)

    def silent(self, wire: socket.socket) -> None:
        self._over.wait()

    def trickles(self, first: bytes) -> Deed:
        def trickle(wire: socket.socket) -> None:
            wire.sendall(first)
            while not self._over.wait(0.02):
                wire.sendall(b"x")

        return trickle

    def then(self, *deeds: bytes | Deed) -> None:
        self._deeds = iter(deeds)

    def close(self) -> None:
        if self._over.is_set():
            return
        self._over.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(PATIENCE_S)
