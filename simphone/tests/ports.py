"""Ports that a test may name before it uses them.

They lie below the range from which the kernel takes one for every outgoing connection: a port of
that range may be gone between the look and the use, and on a busy machine it sometimes is.
"""

from __future__ import annotations

import random
import socket

FIRST, LAST = 20_000, 32_000


def even_port() -> int:
    """A free even port whose neighbour is free too, as an emulator needs them."""
    while True:
        port = random.randrange(FIRST, LAST, 2)
        try:
            with (
                socket.create_server(("127.0.0.1", port)),
                socket.create_server(("127.0.0.1", port + 1)),
            ):
                return port
        except OSError:
            continue
