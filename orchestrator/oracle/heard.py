"""Questions to ourselves: what the agent answered, and what the case's site was sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..cases.model import AnswerIs, ReceiptIs
from ..events.canonical import Json
from .oracle import Context, Decision, Query, Reading

ANSWERS = "action_trace.jsonl"  # where the bundle keeps every answer


@dataclass(frozen=True)
class Answer:
    name: str
    asked: AnswerIs
    settle: float | None = None
    kind: str = "answer"
    notes: tuple[str, ...] = (
        "the agent's last answer action; what it typed or showed is no answer",
    )
    needs: tuple[str, ...] = ()
    tentative: bool = False

    def queries(self, context: Context) -> tuple[Query, ...]:
        return (Query("agent_answer", 0, path=ANSWERS),)

    def ask(self, context: Context) -> Reading:
        said = context.answer
        facts = {"answer": said if said is None or self.asked.matches else folded(said)}
        return Reading(self.queries(context), said or "", facts)

    def decide(self, facts: Json) -> Decision:
        said, asked = facts["answer"], self.asked
        if said is None:
            return Decision(False, "the agent gave no answer")
        if asked.equals is not None:
            return Decision(said == folded(asked.equals), f"the answer is {said[:200]!r}")
        if asked.contains is not None:
            return Decision(folded(asked.contains) in said, f"the answer is {said[:200]!r}")
        found = re.search(asked.matches or "", said)
        return Decision(found is not None, f"the answer is {said[:200]!r}")


@dataclass(frozen=True)
class Receipt:
    name: str
    asked: ReceiptIs
    settle: float | None = None
    kind: str = "receipt"
    notes: tuple[str, ...] = (
        "counted by the site's own server; a page that says so is not enough",
    )
    needs: tuple[str, ...] = ("site",)

    @property
    def tentative(self) -> bool:
        return self.asked.count is not None

    def queries(self, context: Context) -> tuple[Query, ...]:
        return (Query("site_receipts", 0, path=self.asked.path),)

    def ask(self, context: Context) -> Reading:
        matching = [each for each in context.receipts if self._matches(each)]
        raw = "\n".join(f"{each['method']} {each['path']} {each['fields']}" for each in matching)
        return Reading(self.queries(context), raw, {"requests": len(matching)})

    def _matches(self, receipt: Mapping[str, Any]) -> bool:
        asked, fields = self.asked, receipt["fields"]
        return (
            receipt["method"] == asked.method
            and receipt["path"] == asked.path
            and all(fields.get(name) == [value] for name, value in asked.form.items())
        )

    def decide(self, facts: Json) -> Decision:
        found, wanted = facts["requests"], self.asked.count
        holds = found > 0 if wanted is None else found == wanted
        meant = "at least one" if wanted is None else f"exactly {wanted}"
        return Decision(holds, f"{found} matching requests, {meant} wanted")


def folded(text: str) -> str:
    """Spaces folded, case ignored."""
    return " ".join(text.split()).casefold()
