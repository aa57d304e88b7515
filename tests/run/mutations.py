"""One random change to a run's folder, and how to undo it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from orchestrator.report.verify.run import Proof

Undo = Callable[[], None]


class Mutations:
    """Flips, cuts, removals and swaps, drawn over every file that the run holds."""

    def __init__(self, run: Path, seed: int) -> None:
        self._run = run
        self._chance = random.Random(seed)
        self._files = sorted(Path(at) / name for at, _, names in os.walk(run) for name in names)
        self._content = {path: path.read_bytes() for path in self._files}

    def mutate(self) -> tuple[str, Undo]:
        """What was done, in words."""
        kind = self._chance.choice((self._flip, self._flip, self._cut, self._remove, self._swap))
        return kind()

    def _flip(self) -> tuple[str, Undo]:
        path = self._some(lambda path: bool(self._content[path]))
        at, bit = self._chance.randrange(len(self._content[path])), 1 << self._chance.randrange(8)
        data = bytearray(self._content[path])
        data[at] ^= bit
        path.write_bytes(data)
        return f"byte {at} of {self._name(path)} flipped by {bit}", self._restore(path)

    def _cut(self) -> tuple[str, Undo]:
        path = self._some(lambda path: path.suffix == ".jsonl" and bool(self._content[path]))
        lines = self._content[path].splitlines(keepends=True)
        at = self._chance.randrange(len(lines))
        path.write_bytes(b"".join(lines[:at] + lines[at + 1 :]))
        return f"line {at + 1} of {self._name(path)} cut", self._restore(path)

    def _remove(self) -> tuple[str, Undo]:
        path = self._some(lambda path: True)
        path.unlink()
        return f"{self._name(path)} removed", self._restore(path)

    def _swap(self) -> tuple[str, Undo]:
        one = self._some(lambda path: True)
        other = self._some(lambda path: self._content[path] != self._content[one])
        one.write_bytes(self._content[other])
        other.write_bytes(self._content[one])
        return f"{self._name(one)} and {self._name(other)} swapped", self._restore(one, other)

    def _some(self, fits: Callable[[Path], bool]) -> Path:
        return self._chance.choice([path for path in self._files if fits(path)])

    def _restore(self, *paths: Path) -> Undo:
        def undo() -> None:
            for path in paths:
                path.write_bytes(self._content[path])

        return undo

    def _name(self, path: Path) -> str:
        return path.relative_to(self._run).as_posix()


def unnoticed(run: Path, count: int, seed: int, verify: Callable[[Path], Proof]) -> list[str]:
    """The changes, of so many, that `verify` had nothing to say about; the run is left whole."""
    assert verify(run).problems == ()
    mutations = Mutations(run, seed)
    missed = []
    for _ in range(count):
        done, undo = mutations.mutate()
        try:
            if not verify(run).problems:
                missed.append(done)
        finally:
            undo()
    assert verify(run).problems == ()
    return missed
