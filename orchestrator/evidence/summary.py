"""summary.json: the result of an attempt, in the terms that other tools read."""

from __future__ import annotations

from typing import Any

from ..outcome import Judgement, Outcome

NAME = "summary.json"
STATUS = {
    Outcome.SUCCESS: "success",
    Outcome.TASK_FAILED: "fail",
    Outcome.AGENT_FAILED: "fail",
    Outcome.ORACLE_INCONCLUSIVE: "inconclusive",
    Outcome.INFRA_FAILED: "inconclusive",
}


def summary_document(case_id: str, variant: str, seed: int, judgement: Judgement) -> dict[str, Any]:
    return {
        "case_id": case_id,
        "variant": variant,
        "seed": seed,
        **judgement_fields(judgement),
    }


def judgement_fields(judgement: Judgement) -> dict[str, Any]:
    """The fields that follow from the judgement."""
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
