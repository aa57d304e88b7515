"""The last notices of a run, numbered, for whoever watches it from elsewhere."""

from __future__ import annotations

from collections import deque

MOST = 200  # that are kept


class NoticeLog:
    """Lines for a person. Only this process has them: they are no part of the run."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MOST)
        self._count = 0

    def add(self, line: str) -> None:
        self._lines.append(line)
        self._count += 1

    def after(self, known: int) -> tuple[int, list[str]]:
        """How many there were, and those that a reader of the first `known` does not have. All that
        are kept where there were fewer: the reader has those of another process."""
        missing = self._count - known if known <= self._count else self._count
        kept = list(self._lines)
        return self._count, kept[max(0, len(kept) - missing) :]
