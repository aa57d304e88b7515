"""Something on the phone failed: Android's log says so, and the phone goes on.

Root can drop a provider's table or write words where a number belongs. On a real phone that ends
a process, never the phone.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .world import World

log = logging.getLogger(__name__)


@contextmanager
def contained(world: World, name: str, died: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Around what the process `name` does: a failure is logged, its end told to `died`."""
    try:
        yield
    except Exception as error:
        log.exception("%s failed", name)
        process = world.processes.find(name)
        pid = process.pid if process else 1000
        java = "android.database.sqlite.SQLiteException"
        kind = java if isinstance(error, sqlite3.Error) else "java.lang.RuntimeException"
        text = f"FATAL EXCEPTION: main\nProcess: {name}, PID: {pid}\n{kind}: {error}"
        world.logcat.write("AndroidRuntime", text, level="E", pid=pid)
        died()
