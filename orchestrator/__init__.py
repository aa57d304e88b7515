"""emufarm: runs Android agents against a farm of emulators and keeps evidence of every attempt.

The Python API is `farm`'s, offered here by name: `run`, `Run`, `compare` and more (docs/api.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .farm import *  # noqa: F403

__version__ = "0.1.0"

# Named here, so that asking for a submodule does not import the farm.
_API = """
AttemptResult CheckedCases ClusterOptions Comparison EmufarmError EpisodeResult Journaled Judgement
Limits MetricsPort Notice Plan Proof Report Reproduction Run RunEvent RunInterrupted RunStarted
UsageError check_cases compare reproduce resume run
"""


def __dir__() -> list[str]:
    return [*globals(), *_API.split()]


def __getattr__(name: str) -> Any:
    """Imports the farm when somebody asks for it: the supervisor must start without it."""
    if name not in _API.split():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import farm

    return getattr(farm, name)
