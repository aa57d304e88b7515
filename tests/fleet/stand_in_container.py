"""A worker's or a device's container that does one thing: `stand_in_container.py DEED [WORD ...]`.

worker: exit CODE           at once
        wait CODE           at SIGTERM, with a word in its log
        ask HOST PORT CODE  once somebody answers there with a line, which it prints
        seal FOLDER CODE    with a sealed attempt left in its staging folder
        write PATH CODE     after it tried to make a file there
device: phone               says that its emulator runs, answers on port 5600, ends at SIGTERM
        broken CODE         ends with its reason before any emulator ran
        dying CODE          says that its emulator runs, and ends
        hungry              says that its emulator runs, and takes all memory there is
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from types import FrameType

STARTED = json.dumps({"control_port": 5600, "pid": 1})


def say(line: str) -> None:
    print(line, flush=True)


def until_told(code: int) -> int:
    def told(number: int, frame: FrameType | None) -> None:
        say("given back")
        sys.exit(code)

    signal.signal(signal.SIGTERM, told)
    say("at work")
    while True:
        signal.pause()


def ask(host: str, port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            with socket.create_connection((host, port), 5) as wire:
                say(wire.makefile().readline().strip())
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def seal(folder: Path) -> None:
    waiting = folder / "sealed-1" / "bundle"
    waiting.mkdir(parents=True)
    (waiting.parent / "token").write_text("a-lease")
    (waiting / "MANIFEST.json").write_text("{}")
    (folder / "sent-1").mkdir()
    (folder / ".lock").touch()


def answer() -> None:
    with socket.create_server(("127.0.0.1", 5600)) as server:
        while True:
            wire, _ = server.accept()
            with wire:
                wire.sendall(b"the phone is here\n")


def phone() -> int:
    threading.Thread(target=answer, daemon=True).start()
    say(STARTED)
    return until_told(0)


def hungry() -> int:
    say(STARTED)
    taken = []
    while True:
        taken.append(bytearray(b"x" * (8 << 20)))


def write(path: str) -> None:
    try:
        Path(path).write_text("")
        say(f"{path} was written")
    except OSError as error:
        say(f"{path}: {error.strerror}")


def main(deed: str, *words: str) -> int:
    match deed:
        case "wait":
            return until_told(int(words[0]))
        case "ask":
            ask(words[0], int(words[1]))
        case "seal":
            seal(Path(words[0]))
        case "write":
            write(words[0])
        case "phone":
            return phone()
        case "hungry":
            return hungry()
        case "dying":
            say(STARTED)
        case "broken":
            say("start: /dev/kvm is not found")
    return int(words[-1])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
