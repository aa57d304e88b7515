"""Renews a lease in a thread while an attempt runs, and notices when it is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Renewal:
    """Renews at a third of the term; `kept` is False once a renewal was refused."""

    def __init__(self, renew: Callable[[], bool], term_s: float) -> None:
        self._renew = renew
        self._pause_s = term_s / 3
        self._over = threading.Event()
        self._kept = True
        self._thread = threading.Thread(target=self._run, name="renewal", daemon=True)

    @property
    def kept(self) -> bool:
        return self._kept

    def _run(self) -> None:
        while not self._over.wait(self._pause_s):
            if not self._renew():
                self._kept = False
                return

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join(timeout=30)
