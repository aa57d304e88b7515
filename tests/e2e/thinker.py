"""An agent that pauses in the middle of an attempt: after its first action it waits for a signal.

It runs on this machine, where the workers' containers reach it, and knows them by their addresses.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LONGEST_S = 45.0  # less than a case's own time


class Thinker:
    def __init__(self, address: str) -> None:
        self.thinking: queue.Queue[str] = queue.Queue()  # the addresses of whom it keeps waiting
        self._go = threading.Event()
        thinker = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = json.dumps(thinker._answer(said, self.client_address[0])).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_: object) -> None:
                """Its requests are in the bundles."""

        self._server = _Server((address, 0), Handler)
        self.url = f"http://{address}:{self._server.server_address[1]}/"

    def _answer(self, said: dict[str, Any], whom: str) -> dict[str, Any]:
        if said["type"] == "hello":
            return {"type": "ready", "name": "thinker"}
        if said["step"] == 0:
            return {"action": "wait", "seconds": 0.1}
        self.thinking.put(whom)
        self._go.wait(LONGEST_S)
        return {"action": "done"}

    def go(self) -> None:
        """It has thought, now and from now on."""
        self._go.set()

    @contextmanager
    def listening(self) -> Iterator[Thinker]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.go()
            self._server.shutdown()
            self._server.server_close()
            thread.join(60)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Whoever asked may be dead by now: that is what is tested."""
