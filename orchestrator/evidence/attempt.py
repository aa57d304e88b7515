"""attempt.json and summary.json: the record of one attempt, and its result for other tools.

attempt.json holds the facts that were judged (oracle results, trouble, spent) beside the judgement,
so that anybody can judge again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, field_validator, model_validator

from ..outcome import (
    NO_EFFORT,
    Effort,
    EmulatorAge,
    Judgement,
    OracleResults,
    Outcome,
    Reason,
    Trouble,
    upheld,
)

NAME = "attempt.json"
SUMMARY = "summary.json"
SIZE_LIMIT = 1 << 18
TEXT_LIMIT = 8192
STATUS = {
    Outcome.SUCCESS: "success",
    Outcome.TASK_FAILED: "fail",
    Outcome.AGENT_FAILED: "fail",
    Outcome.ORACLE_INCONCLUSIVE: "inconclusive",
    Outcome.INFRA_FAILED: "inconclusive",
}


class AttemptRecord(BaseModel, extra="forbid", frozen=True, allow_inf_nan=False):
    """Unknown fields are refused: everything else has a file of its own."""

    episode: str = Field(min_length=1, max_length=200)
    attempt: int = Field(ge=1)
    device: str = Field(min_length=1, max_length=200)
    judgement: Judgement
    started_ms: int = Field(ge=0)
    ended_ms: int = Field(ge=0)
    durations: dict[str, float] = {}  # phase -> seconds
    effort: Effort = NO_EFFORT
    age: EmulatorAge | None = None  # None: its supervisor did not answer
    oracle_results: OracleResults | None = None  # None: the oracles could not be asked
    trouble: Trouble | None = None  # what ended the attempt early
    spent: Reason = Reason.NONE  # the budget that ran out

    @property
    def scored(self) -> Judgement:
        """The judgement that counts: its own, if it follows from its facts."""
        return upheld(self.judgement, self.oracle_results, self.trouble, self.spent)

    @field_validator("judgement")
    @classmethod
    def text_is_bounded(cls, judgement: Judgement) -> Judgement:
        """The journal repeats it."""
        if len(judgement.text) > TEXT_LIMIT:
            raise ValueError(f"its text is longer than {TEXT_LIMIT} characters")
        return judgement

    @model_validator(mode="after")
    def ends_after_it_started(self) -> AttemptRecord:
        if self.ended_ms < self.started_ms:
            raise ValueError("ended_ms is before started_ms")
        return self


def read(folder: Path) -> AttemptRecord:
    """The bundle's attempt.json; ValueError or OSError where there is none that can be read."""
    path = folder / NAME
    if path.stat().st_size > SIZE_LIMIT:
        raise ValueError(f"{NAME} is longer than {SIZE_LIMIT} bytes")
    return AttemptRecord.model_validate_json(path.read_bytes())


def summary_fields(judgement: Judgement) -> dict[str, Any]:
    """The fields of summary.json that follow from the judgement."""
    outcome = judgement.outcome
    return {
        "status": STATUS[outcome],
        "task_success": outcome is Outcome.SUCCESS,
        "failure_class": None if outcome is Outcome.SUCCESS else outcome.value,
        "blame": judgement.blame.value,
        "phase": judgement.phase.value,
        "reason": judgement.reason.value,
        "violations": list(judgement.violations),
        "violations_known": judgement.violations_known,
    }
