"""The queue of episodes that wait for a lease, ordered by expected duration, longest first.

Equal episodes keep the plan's order; an episode that is put back goes before its equals. The cost
of adding and removing does not grow with the length of the queue.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping


class Pending:
    """Rows of equal expected duration: as many as there are kinds of episodes, which are few."""

    def __init__(self, episodes: Iterable[str], expected: Mapping[str, float]) -> None:
        self._expected = expected
        self._rows: dict[float, OrderedDict[str, None]] = {}
        for id in episodes:
            self._rows.setdefault(expected[id], OrderedDict())[id] = None
        self._order = sorted(self._rows)  # the longest is last, where a list is cut cheaply

    def __iter__(self) -> Iterator[str]:
        for seconds in reversed(self._order):
            yield from self._rows[seconds]

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def __contains__(self, id: str) -> bool:
        return id in self._rows.get(self._expected[id], ())

    @property
    def expected_s(self) -> float:
        """The sum over the queue."""
        return sum(seconds * len(row) for seconds, row in self._rows.items())

    def put_back(self, id: str) -> None:
        seconds = self._expected[id]
        if seconds not in self._rows:
            self._rows[seconds] = OrderedDict()
            insort(self._order, seconds)
        row = self._rows[seconds]
        row[id] = None
        row.move_to_end(id, last=False)

    def take(self, id: str) -> None:
        """Remove it, if it is in the queue."""
        seconds = self._expected[id]
        row = self._rows.get(seconds)
        if row is None or id not in row:
            return
        del row[id]
        if not row:
            del self._rows[seconds]
            del self._order[bisect_left(self._order, seconds)]
