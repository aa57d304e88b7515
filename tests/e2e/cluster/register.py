"""Lists the clusters of this machine: none has another's addresses, or outlives its owner for long.

FOLDER/lock        held by the one who changes the list
FOLDER/TAG.json    a cluster's folder, its number, and the process whose end is its own
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.e2e.cluster.layout import NUMBERS, Layout, NoCluster
from tests.e2e.cluster.processes import Running, running


@dataclass(frozen=True)
class Entry:
    folder: str
    number: int
    owner: Running | None = None  # None: it is up until somebody takes it down

    @property
    def alive(self) -> bool:
        return Path(self.folder).exists() and (self.owner is None or self.owner.alive)


class Register:
    def __init__(self, place: Path | None = None) -> None:
        self._place = place or Path(tempfile.gettempdir()) / f"emufarm-clusters-{os.getuid()}"

    def enter(self, layout: Layout, owner: int | None) -> int:
        """Its number, which no other has; the first choice is the same for the same folder."""
        with self._alone():
            others = [one for one in self._entries() if one.folder != str(layout.folder)]
            taken = {one.number for one in others}
            first = int(layout.tag, 16)
            free = [(first + step) % NUMBERS for step in range(NUMBERS)]
            number = next((one for one in free if one not in taken), None)
            if number is None:
                raise NoCluster(f"{self._place} lists {NUMBERS} clusters: take some down")
            entry = Entry(str(layout.folder), number, running(owner) if owner else None)
            self._file(layout).write_text(json.dumps(asdict(entry)))
            return number

    def leave(self, layout: Layout) -> None:
        with self._alone():
            self._file(layout).unlink(missing_ok=True)

    def dead(self) -> list[Path]:
        """The folders of those whose owner ended, and its guard too."""
        with self._alone():
            return [Path(one.folder) for one in self._entries() if not one.alive]

    def _entries(self) -> list[Entry]:
        return [_entry(path) for path in sorted(self._place.glob("*.json"))]

    def _file(self, layout: Layout) -> Path:
        return self._place / f"{layout.tag}.json"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._place.mkdir(mode=0o700, exist_ok=True)
        with (self._place / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _entry(path: Path) -> Entry:
    record = json.loads(path.read_text())
    owner = record["owner"]
    return Entry(record["folder"], record["number"], Running(**owner) if owner else None)
