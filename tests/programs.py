"""Starts a program beside a test and kills it at the end, however the test ends."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

LINE_S, END_S = 120.0, 30.0


class Program:
    """One that runs, and what it prints."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def first_line(self, seconds: float = LINE_S) -> str:
        """Fails where there is none in time, or the program ends before."""
        assert self._process.stdout is not None
        return read_until(self._process.stdout.fileno(), "\n", seconds).partition("\n")[0]

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(END_S)


def read_until(file: int, wanted: str, seconds: float) -> str:
    """What is printed until this is; fails where it is not in time, or never will be."""
    deadline, said = time.monotonic() + seconds, b""
    watch = select.poll()
    watch.register(file, select.POLLIN)
    while wanted.encode() not in said:
        left = max(0.0, deadline - time.monotonic())
        assert watch.poll(left * 1000), f"no {wanted!r} within {seconds:g} s: {said!r}"
        piece = os.read(file, 4096)
        assert piece, f"it ended without {wanted!r}: {said!r}"
        said += piece
    return said.decode()


@contextmanager
def started(
    *command: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[Program]:
    process = subprocess.Popen(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    program = Program(process)
    try:
        yield program
    finally:
        program.kill()
        assert process.stdout is not None
        process.stdout.close()
