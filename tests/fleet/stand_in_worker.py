"""A worker that does one thing: `stand_in_worker.py STAGING DEED`.

exit CODE     at once
brood CODE    at once, with a child left behind
wait CODE     at SIGTERM, with a word in STAGING/given-back; or when stdin ends
deaf          only when stdin ends

First of all it writes its pid to STAGING/pid.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType


def main(staging: Path, deed: str, *code: str) -> int:
    def terminated(number: int, frame: FrameType | None) -> None:
        if deed == "wait":
            (staging / "given-back").write_text("yes")
            sys.exit(int(code[0]))

    # A signal that comes just before a blocking read is heard only after it; this pipe ends the
    # wait whenever it comes.
    heard, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGTERM, terminated)
    (staging / "pid.new").write_text(str(os.getpid()))
    (staging / "pid.new").rename(staging / "pid")
    if deed == "brood":
        subprocess.Popen(["sleep", "600"], env={**os.environ, "OF": str(staging)})
    if deed in ("exit", "brood"):
        print(f"leaving with {code[0]}", flush=True)
        return int(code[0])
    while 0 not in select.select([0, heard], [], [])[0]:
        os.read(heard, 1)
    return 9


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
