"""Removes what killed runs and killed image builds left on the Docker engine."""

from __future__ import annotations

from ..events.notify import Notify
from ..fleet.docker.engine import connect
from ..fleet.docker.reaper import Reaped, reap
from ..folders import cache_folder
from ..image.cleanup import remove_all_leftovers


def clean_engine(notify: Notify) -> Reaped:
    """Living runs and builds are not touched. EngineAbsent if no engine answers."""
    engine = connect()
    try:
        found = reap(engine, notify)
        remove_all_leftovers(engine, cache_folder())
        return found
    finally:
        engine.close()
