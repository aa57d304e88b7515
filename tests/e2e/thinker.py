"""An agent that solves the smoke case and pauses in the middle of an attempt, until a signal.

It runs on this machine, where the workers' containers reach it, and knows them by their addresses.
"""

from __future__ import annotations

import json
import queue
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LONGEST_S = 45.0  # less than a case's own time
WAY = ("Network & internet", "Internet", "Use Wi-Fi")


class Thinker:
    def __init__(self, address: str, longest_s: float = LONGEST_S) -> None:
        self.thinking: queue.Queue[str] = queue.Queue()  # the addresses of whom it keeps waiting
        self._longest_s = longest_s
        self._go = threading.Event()
        self._taps: defaultdict[str, int] = defaultdict(int)  # by session
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
            return {"action": "open_app", "app": "settings"}
        if said["step"] == 1:
            go = self._go
            self.thinking.put(whom)
            go.wait(self._longest_s)
        return self._next(said["session"], said["elements"] or [])

    def _next(self, session: str, elements: list[dict[str, Any]]) -> dict[str, Any]:
        done = self._taps[session]
        if done == len(WAY):
            return {"action": "done"}
        for element in elements:
            if element["text"] == WAY[done]:
                self._taps[session] += 1
                return {"action": "tap", "element": element["index"]}
        return {"action": "wait", "seconds": 0.3}

    def go(self) -> None:
        """It has thought, now and from now on."""
        self._go.set()

    def go_once(self) -> None:
        """Those who wait now wait no more; those who come later do."""
        go, self._go = self._go, threading.Event()
        go.set()

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
