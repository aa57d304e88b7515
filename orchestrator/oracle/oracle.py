"""The oracle protocol: queries, raw results, typed facts, decision.

An oracle is pure. It yields a query, receives the raw result, yields the next query and finally
returns facts; its decision depends on the facts alone. The query runner (query_runner.py) keeps
every raw result, so that the inquiry can be repeated without a phone (recompute.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol

from ..cases.oracles import SimpleQuestion
from ..device.faults import DeviceFault
from ..errors import EmufarmError
from ..events.canonical import Json, canonical


@dataclass(frozen=True)
class Query:
    """One question as it is put: exactly one of cmd, sql, path, uri says it."""

    type: str
    timeout_ms: int
    cmd: str | None = None
    sql: str | None = None
    path: str | None = None
    uri: str | None = None


@dataclass(frozen=True)
class Raw:
    """What came back for one query, before anybody reads it.

    A command that ran has an exit code, and its stderr is `error`. Nothing else has an exit code:
    there an error says why no answer came.
    """

    data: bytes = b""
    exit_code: int | None = None
    error: str = ""

    @property
    def answered(self) -> bool:
        return self.exit_code is not None or not self.error


class NoAnswer(EmufarmError):
    """A query that nobody answered; never a no."""


# Says a query, is sent its raw result, returns the facts. NoAnswer is thrown in where none came;
# DeviceFault comes out where what came is no answer.
Inquiry = Generator[Query, Raw, Json]


@dataclass(frozen=True)
class Decision:
    holds: bool | None  # None: the facts do not decide
    reason: str


class Oracle(Protocol):
    @property
    def question(self) -> SimpleQuestion:
        """What was asked, every role resolved: enough to make this oracle again."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Why an agent cannot talk its way past it."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Capabilities of the phone (device/capabilities.py) and of the harness."""
        ...

    @property
    def behind(self) -> tuple[str, ...]:
        """The packages whose version the answer depends on."""
        ...

    @property
    def tentative(self) -> bool:
        """An absence, or an exact count: what is still on its way may undo what holds now."""
        ...

    def inquire(self) -> Inquiry:
        """The conversation. Its facts hold no row ids, no dates, nothing that differs between two
        phones in the same state."""
        ...

    def decide(self, facts: Json) -> Decision:
        """The same facts always give the same decision."""
        ...


@dataclass(frozen=True)
class InquiryResult:
    """A whole conversation: each query with its raw result, and the facts, or why there are
    none."""

    answers: tuple[tuple[Query, Raw], ...]
    facts: Json = None
    fault: str | None = None


def run_inquiry(oracle: Oracle, put: Callable[[Query], Raw]) -> InquiryResult:
    """Holds the conversation; the same raw results always give the same facts."""
    answers: list[tuple[Query, Raw]] = []
    inquiry = oracle.inquire()
    try:
        query = next(inquiry)
        while True:
            raw = put(query)
            answers.append((query, raw))
            query = inquiry.send(raw) if raw.answered else inquiry.throw(NoAnswer(raw.error))
    except StopIteration as ended:
        # As they will be read back: what UTF-8 cannot carry is replaced before it is digested.
        facts = json.loads(canonical(ended.value).decode("utf-8", "replace"))
        return InquiryResult(tuple(answers), facts)
    except (NoAnswer, DeviceFault) as fault:
        return InquiryResult(tuple(answers), fault=str(fault))


@dataclass(frozen=True)
class Verdict:
    """One oracle's word. `holds` is None where it could not be answered."""

    oracle: Oracle
    phase: str  # pre | post
    holds: bool | None
    reason: str
    inquiry: InquiryResult
    polls: int
    seconds: float
    faults: tuple[str, ...] = ()  # of asks without facts: repeated, or the last
    retries: tuple[str, ...] = ()  # transport errors after which a query was put again

    @property
    def name(self) -> str:
        return self.oracle.question.name


def unanswered(why: str) -> str:
    """The reason of a verdict without facts."""
    return f"could not be asked: {why}"
