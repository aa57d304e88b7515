"""A worker that takes a real worker's arguments and follows a script instead of a coordinator.

Its script stands in the place of the coordinator's URL: deeds, divided by `;`, one for each worker
that starts in the slot; the last one for all further ones.

exit CODE              at once
meet CODE              once its device's control port accepts a connection
wait CODE              at SIGTERM, after it printed `given back`; or when stdin ends
deaf                   only when stdin ends
brood CODE             at once, with a child left behind
ask HOST PORT CODE     once a line comes from there, which it prints
seal CODE              with a sealed attempt left in its staging folder
write PATH CODE        after it tried to make a file there

Its first line is `SLOT.N at work, pid PID`. Standard library only: it also runs in a container.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

PATIENCE_S = 60.0


# In a Pod: a file that outlives it, where it prints to as well.
output: list[Path] = []


def say(line: str) -> None:
    print(line, flush=True)
    for path in output:
        with path.open("a") as file:
            file.write(f"{line}\n")


def wait(tied: bool) -> int:
    """Until stdin ends, which a worker in a container does not wait for."""
    # A signal that comes just before a blocking read is heard only after it; this pipe ends the
    # wait whenever it comes.
    heard, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    files = [0, heard] if tied else [heard]
    while 0 not in select.select(files, [], [])[0]:
        os.read(heard, 1)
    return 9


def connected(host: str, port: int) -> socket.socket:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection((host, port), 5)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def seal(staging: Path) -> None:
    waiting = staging / "sealed-1" / "bundle"
    waiting.mkdir(parents=True)
    (waiting.parent / "token").write_text("a-lease")
    (waiting / "MANIFEST.json").write_text("{}")
    (staging / "sent-1").mkdir()
    (staging / ".lock").touch()


def write(path: str) -> None:
    try:
        Path(path).write_text("")
        say(f"{path} was written")
    except OSError as error:
        say(f"{path}: {error.strerror}")


def deed_of(script: str, count: Path) -> list[str]:
    """The next one of the slot; how many were done is written down in this file."""
    deeds = script.split(";")
    done = int(count.read_text()) if count.exists() else 0
    count.write_text(str(done + 1))
    return deeds[min(done, len(deeds) - 1)].split()


def main(arguments: list[str]) -> int:
    assert arguments[0] == "worker"
    tied = arguments[-1] == "--tied"
    options = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    staging, count = Path(options["--staging"]), Path(options["--staging"], "deeds")
    if exit_file := options.get("--exit-file", ""):
        slot = Path(os.environ["TRIAL"], options["--device"].rpartition(".")[0])
        slot.parent.mkdir(parents=True, exist_ok=True)
        output.append(slot.with_suffix(".output"))
        count = slot.with_suffix(".deeds")
    deed, *words = deed_of(options["--coordinator"], count)

    def terminated(number: int, frame: FrameType | None) -> None:
        if deed == "wait":
            say("given back")
            sys.exit(left(int(words[0]), exit_file))

    signal.signal(signal.SIGTERM, terminated)
    say(f"{options['--device']} at work, pid {os.getpid()}")
    match deed:
        case "wait" | "deaf":
            return wait(tied)
        case "meet":
            connected("127.0.0.1", int(options["--control-port"])).close()
        case "ask":
            with connected(words[0], int(words[1])) as wire:
                say(wire.makefile().readline().strip())
        case "seal":
            seal(staging)
        case "write":
            write(words[0])
        case "brood":
            subprocess.Popen(["sleep", "600"], env={**os.environ, "OF": str(staging)})
    say(f"leaving with {words[-1]}")
    return left(int(words[-1]), exit_file)


def left(code: int, exit_file: str) -> int:
    """The exit code: a worker in a Pod that leaves in order exits with 0, and writes its code."""
    if not exit_file or code not in (0, 3, 143):
        return code
    Path(exit_file).write_text(str(code))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
