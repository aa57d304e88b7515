"""One process at a time: a lock that ends with its holder, however that ends."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import EmufarmError

_LOOK_S = 0.05


@contextmanager
def alone(path: Path, seconds: float, waiting: Callable[[], None]) -> Iterator[None]:
    """Holds the file while the block runs; `waiting` is called once where another holds it."""
    until, said = time.monotonic() + seconds, False
    with path.open("ab") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until:
                    raise EmufarmError(f"{path} was held for {seconds:g} s by another") from error
            if not said:
                waiting()
                said = True
            time.sleep(_LOOK_S)
        yield
