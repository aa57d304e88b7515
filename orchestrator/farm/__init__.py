"""The application: wires the rooms into runs, and is the public Python API. It prints nothing."""

from __future__ import annotations

from ..errors import EmufarmError, RunInterrupted, UsageError
from ..outcome import Judgement
from ..plan.plan import Plan
from ..report.compare.comparison import Comparison
from ..report.model import Report
from ..report.verify.run import Proof
from ..settings import Limits
from .cluster.options import ClusterOptions
from .controls import CheckedCases, check_cases
from .exposed import MetricsPort
from .reproduction import Reproduction, reproduce
from .run_events import Journaled, Notice, RunEvent, RunStarted
from .runner import resume, run
from .runs import AttemptResult, EpisodeResult, Run, compare

__all__ = [
    "AttemptResult", "CheckedCases", "ClusterOptions", "Comparison", "EmufarmError",
    "EpisodeResult", "Journaled", "Judgement", "Limits", "MetricsPort", "Notice", "Plan", "Proof",
    "Report", "Reproduction", "Run", "RunEvent", "RunInterrupted", "RunStarted", "UsageError",
    "check_cases", "compare", "reproduce", "resume", "run",
]  # fmt: skip
