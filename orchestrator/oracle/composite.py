"""The composite oracle: all of several questions, or any of them.

A part that could not be asked decides nothing: an `all` with one negative part is negative, and an
`any` with one positive part is positive, whether or not the other parts were answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..cases.oracles import CompositeIs, SimpleQuestion
from ..device.faults import DeviceFault
from ..events.canonical import Json
from .oracle import Decision, Inquiry, NoAnswer, Oracle

UNASKED = Decision(None, "could not be asked")


class CompositeOracle(Oracle[CompositeIs]):
    def __init__(self, question: SimpleQuestion, parts: Sequence[Oracle[Any]]) -> None:
        super().__init__(question)
        self.parts = tuple(parts)

    @property
    def notes(self) -> tuple[str, ...]:
        return self._distinct(lambda part: part.notes)

    @property
    def needs(self) -> tuple[str, ...]:
        return self._distinct(lambda part: part.needs)

    @property
    def depends_on(self) -> tuple[str, ...]:
        return self._distinct(lambda part: part.depends_on)

    @property
    def tentative(self) -> bool:
        return any(part.tentative for part in self.parts)

    def _distinct(self, names: Callable[[Oracle[Any]], tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in names(part)))

    def inquire(self) -> Inquiry:
        """The facts of each part by name; null if it could not be asked."""
        facts: dict[str, Json] = {}
        for part in self.parts:
            try:
                facts[part.question.name] = yield from part.inquire()
            except (NoAnswer, DeviceFault):
                # The evidence records which query had no answer.
                facts[part.question.name] = None
        return facts

    def decide(self, facts: Json) -> Decision:
        decisions = {}
        for part in self.parts:
            name = part.question.name
            decisions[name] = UNASKED if facts[name] is None else part.decide(facts[name])
        reason = "; ".join(f"{name}: {decision.reason}" for name, decision in decisions.items())
        holds = [decision.holds for decision in decisions.values()]
        return Decision(disjunction(holds) if self.asked.any_ else conjunction(holds), reason)


def without_facts(oracle: Oracle[Any], facts: Json) -> tuple[Oracle[Any], ...]:
    """The oracles without an answer: parts of a composite, or the oracle itself."""
    if isinstance(oracle, CompositeOracle) and facts is not None:
        return tuple(part for part in oracle.parts if facts[part.question.name] is None)
    return () if facts is not None else (oracle,)


def conjunction(values: Sequence[bool | None]) -> bool | None:
    """Three-valued `and`: one False decides, even if others are None."""
    return False if False in values else None if None in values else True


def disjunction(values: Sequence[bool | None]) -> bool | None:
    """Three-valued `or`: one True decides, even if others are None."""
    return True if True in values else None if None in values else False
