"""emufarm: runs Android agents against a farm of emulators and keeps evidence of every attempt.

The Python API: `run`, `resume`, `reproduce`, `compare`, `check_cases` and `Run` (docs/api.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import EmufarmError, UsageError
    from .farm import (
        AttemptResult,
        CheckedCases,
        Comparison,
        EpisodeResult,
        Journaled,
        Judgement,
        Limits,
        Notice,
        Plan,
        Proof,
        Report,
        Reproduction,
        Run,
        RunEvent,
        RunInterrupted,
        RunStarted,
        check_cases,
        compare,
        reproduce,
        resume,
        run,
    )

__version__ = "0.1.0"

__all__ = [
    "AttemptResult",
    "CheckedCases",
    "Comparison",
    "EmufarmError",
    "EpisodeResult",
    "Journaled",
    "Judgement",
    "Limits",
    "Notice",
    "Plan",
    "Proof",
    "Report",
    "Reproduction",
    "Run",
    "RunEvent",
    "RunInterrupted",
    "RunStarted",
    "UsageError",
    "check_cases",
    "compare",
    "reproduce",
    "resume",
    "run",
]


def __getattr__(name: str) -> Any:
    """Imports the farm when somebody asks for it: the supervisor must start without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import farm

    return getattr(farm, name)
