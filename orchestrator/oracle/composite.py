"""All of several questions, or any of them.

What cannot be asked decides nothing: an `all` with a no is a no, and an `any` with a yes is a yes,
however little the others could say.
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
    def behind(self) -> tuple[str, ...]:
        return _distinct(name for part in self.parts for name in part.behind)

    @property
    def tentative(self) -> bool:
        return any(part.tentative for part in self.parts)

    def inquire(self) -> Inquiry:
        """By name, the facts of each; null where it could not be asked."""
        facts: dict[str, Json] = {}
        for part in self.parts:
            try:
                facts[part.question.name] = yield from part.inquire()
            except (NoAnswer, DeviceFault):
                # Which query went without an answer stands with it in the evidence.
                facts[part.question.name] = None
        return facts

    def decide(self, facts: Json) -> Decision:
        words = [self._word(part, facts[part.question.name]) for part in self.parts]
        said = "; ".join(
            f"{part.question.name}: {word.reason}"
            for part, word in zip(self.parts, words, strict=True)
        )
        holds = [word.holds for word in words]
        return Decision(either(holds) if self.any else conjunction(holds), said)

    def _word(self, part: Oracle, facts: Json) -> Decision:
        return Decision(None, "could not be asked") if facts is None else part.decide(facts)


def without_facts(oracle: Oracle, facts: Json) -> tuple[Oracle, ...]:
    """The questions, of a composite's or it alone, that went without an answer."""
    if isinstance(oracle, CompositeOracle) and facts is not None:
        return tuple(part for part in oracle.parts if facts[part.question.name] is None)
    return () if facts is not None else (oracle,)


def conjunction(words: Sequence[bool | None]) -> bool | None:
    """All must hold; one that does not decides, however little the others could say."""
    if False in words:
        return False
    return None if None in words else True


def either(words: Sequence[bool | None]) -> bool | None:
    if True in words:
        return True
    return None if None in words else False


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
