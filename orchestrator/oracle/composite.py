"""The composite oracle: all of several questions, or any of them.

A part that could not be asked decides nothing: an `all` with one negative part is negative, and an
`any` with one positive part is positive, whether or not the other parts were answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..cases.oracles import SimpleQuestion
from ..device.faults import DeviceFault
from ..events.canonical import Json
from .oracle import Decision, Inquiry, NoAnswer, Oracle


@dataclass(frozen=True)
class CompositeOracle:
    question: SimpleQuestion
    parts: tuple[Oracle, ...]
    any: bool  # else all

    @property
    def notes(self) -> tuple[str, ...]:
        return _distinct(note for part in self.parts for note in part.notes)

    @property
    def needs(self) -> tuple[str, ...]:
        return _distinct(need for part in self.parts for need in part.needs)

    @property
    def depends_on(self) -> tuple[str, ...]:
        return _distinct(name for part in self.parts for name in part.depends_on)

    @property
    def tentative(self) -> bool:
        return any(part.tentative for part in self.parts)

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
        decisions = [self._decision(part, facts[part.question.name]) for part in self.parts]
        reason = "; ".join(
            f"{part.question.name}: {decision.reason}"
            for part, decision in zip(self.parts, decisions, strict=True)
        )
        holds = [decision.holds for decision in decisions]
        return Decision(disjunction(holds) if self.any else conjunction(holds), reason)

    def _decision(self, part: Oracle, facts: Json) -> Decision:
        return Decision(None, "could not be asked") if facts is None else part.decide(facts)


def without_facts(oracle: Oracle, facts: Json) -> tuple[Oracle, ...]:
    """The oracles without an answer: parts of a composite, or the oracle itself."""
    if isinstance(oracle, CompositeOracle) and facts is not None:
        return tuple(part for part in oracle.parts if facts[part.question.name] is None)
    return () if facts is not None else (oracle,)


def conjunction(values: Sequence[bool | None]) -> bool | None:
    """Three-valued `and`: one False decides, even if others are None."""
    if False in values:
        return False
    return None if None in values else True


def disjunction(values: Sequence[bool | None]) -> bool | None:
    """Three-valued `or`: one True decides, even if others are None."""
    if True in values:
        return True
    return None if None in values else False


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
