"""Finds the processes that a run has started, as /proc has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.run.conftest import environ_of


class Descendant(NamedTuple):
    pid: int
    words: list[str]  # of its command line
    environ: list[str]  # NAME=value; empty where it hides them from all but root


def descendants(run: int) -> Iterator[Descendant]:
    """Of the process of a run, however far below it."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            environ = [each.decode(errors="replace") for each in environ_of(folder)]
            above = _ancestors(int(folder.name))
        except OSError:  # it ended while we looked
            continue
        if run in above and any(words):
            yield Descendant(int(folder.name), words, environ)


def emulator_of(run: int, device: str) -> int:
    """The simulated phone's process that stands for this device."""
    found = _emulators(run, f"/{device}/")
    assert found, f"no emulator of {device}"
    return found.pop()


def emulators_in(run: int, slot: str) -> set[int]:
    """The simulated phones' processes of this slot's devices."""
    return _emulators(run, f"/{slot}.")


def _emulators(run: int, place: str) -> set[int]:
    return {
        each.pid
        for each in descendants(run)
        if any(word.endswith("/simphone") for word in each.words)
        and any(place in value for value in each.environ)
    }


def _ancestors(pid: int) -> list[int]:
    found = []
    while pid > 1:
        status = Path(f"/proc/{pid}/status").read_text()
        pid = int(status.split("PPid:")[1].split()[0])
        found.append(pid)
    return found
