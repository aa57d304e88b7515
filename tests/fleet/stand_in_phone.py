"""A device's container that does one thing: `stand_in_phone.py DEED ...`.

phone      says that its emulator runs, answers on port 5600, ends at SIGTERM; crashes at SIGUSR1
broken     ends with its reason before any emulator ran
hungry     says that its emulator runs, and takes all memory there is
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
from types import FrameType

STARTED = json.dumps({"control_port": 5600, "pid": 1})


def answer() -> None:
    with socket.create_server(("127.0.0.1", 5600)) as server:
        while True:
            wire, _ = server.accept()
            with wire:
                wire.sendall(b"the phone is here\n")


def phone() -> None:
    def leave(code: int, number: int, frame: FrameType | None) -> None:
        sys.exit(code)

    signal.signal(signal.SIGTERM, lambda *heard: leave(0, *heard))
    signal.signal(signal.SIGUSR1, lambda *heard: leave(139, *heard))
    threading.Thread(target=answer, daemon=True).start()
    print(STARTED, flush=True)
    while True:
        signal.pause()


def hungry() -> None:
    print(STARTED, flush=True)
    taken = []
    while True:
        taken.append(bytearray(b"x" * (8 << 20)))


if __name__ == "__main__":
    match sys.argv[1]:
        case "phone":
            phone()
        case "hungry":
            hungry()
        case "broken":
            sys.exit("start: /no/such/emulator is not found")
