"""A proxy before the engine's socket that can cut it off without touching the engine."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

_CHUNK = 1 << 16


class Door:
    def __init__(self, place: Path, engine: str) -> None:
        self._place = place
        self._engine = engine.removeprefix("unix://")
        self._server: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self.host = f"unix://{place}"

    def open(self) -> None:
        self._place.unlink(missing_ok=True)
        self._server = server = socket.socket(socket.AF_UNIX)
        server.bind(os.fspath(self._place))
        server.listen(64)
        threading.Thread(target=self._accept, args=(server,), daemon=True).start()

    def close(self) -> None:
        """Nobody is let in, and whoever is inside is put out."""
        server, self._server = self._server, None
        assert server is not None
        self._place.unlink()
        _end(server)
        for wire in list(self._open):
            _end(wire)

    def _accept(self, server: socket.socket) -> None:
        with suppress(OSError):  # it was closed
            while True:
                wire, _ = server.accept()
                behind = socket.socket(socket.AF_UNIX)
                behind.connect(self._engine)
                for one, other in ((wire, behind), (behind, wire)):
                    self._open.add(one)
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while piece := one.recv(_CHUNK):
                other.sendall(piece)
        self._open.discard(one)
        _end(one)
        _end(other)


def _end(wire: socket.socket) -> None:
    with suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)
    wire.close()
