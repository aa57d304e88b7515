"""Ports that a test may name before it uses them.

They lie below the range from which the kernel takes one for every outgoing connection: a port of
that range may be gone between the look and the use, and on a busy machine it sometimes is.
"""

from __future__ import annotations

import os
import random
import socket

FIRST, LAST = 20_000, 32_000
_given: set[int] = set()  # by this process; nothing may listen on them yet


def even_port() -> int:
    """A free even port whose neighbour is free too, as an emulator needs them. No other test
    process gets it, and this one only once."""
    first, last = _own_range()
    while True:
        port = random.randrange(first, last, 2)
        if port in _given:
            continue
        try:
            with (
                socket.create_server(("127.0.0.1", port)),
                socket.create_server(("127.0.0.1", port + 1)),
            ):
                _given.add(port)
                return port
        except OSError:
            continue


def _own_range() -> tuple[int, int]:
    """Of this process, among those of one session."""
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    size = (LAST - FIRST) // count // 2 * 2
    return FIRST + number * size, FIRST + (number + 1) * size
