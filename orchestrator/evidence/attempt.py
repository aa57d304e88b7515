"""attempt.json: the word on one attempt, as its bundle carries it and the coordinator reads it.

It holds what was judged (asked, trouble, spent) beside the judgement, so that anybody can judge
again.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..outcome import NO_EFFORT, Asked, Blame, Effort, Judgement, Outcome, Phase, Reason, Trouble

NAME = "attempt.json"
SIZE_LIMIT = 1 << 18
TEXT_LIMIT = 8192


class AttemptRecord(BaseModel):
    """Unknown fields are refused: what is not here stands in a file of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    episode: str = Field(min_length=1, max_length=200)
    attempt: int = Field(ge=1)
    device: str = Field(min_length=1, max_length=200)
    outcome: Outcome
    blame: Blame
    phase: Phase
    reason: Reason
    text: str = Field(max_length=TEXT_LIMIT)
    violations: tuple[str, ...] = ()
    violations_known: bool
    started_ms: int = Field(ge=0)
    ended_ms: int = Field(ge=0)
    durations: dict[str, float] = {}  # phase -> seconds
    effort: Effort = NO_EFFORT
    asked: Asked | None = None  # what the oracles said; None: they could not be asked
    trouble: Trouble | None = None  # what ended the attempt early
    spent: Reason = Reason.NONE  # the budget that ran out

    @model_validator(mode="after")
    def ends_after_it_started(self) -> AttemptRecord:
        if self.ended_ms < self.started_ms:
            raise ValueError("ended_ms is before started_ms")
        return self

    @property
    def judgement(self) -> Judgement:
        return Judgement(
            self.outcome, self.blame, self.phase, self.reason, self.text, self.violations,
            self.violations_known,
        )  # fmt: skip


def read(folder: Path) -> AttemptRecord:
    """The bundle's attempt.json; ValueError or OSError where there is none that can be read."""
    path = folder / NAME
    if path.stat().st_size > SIZE_LIMIT:
        raise ValueError(f"{NAME} is longer than {SIZE_LIMIT} bytes")
    return AttemptRecord.model_validate_json(path.read_bytes())
