"""summary.json: what an attempt came to, in the words that other tools read."""

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


def judged_words(judgement: Judgement) -> dict[str, Any]:
    """What it says of the judgement; the rest is which case and which seed."""
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
