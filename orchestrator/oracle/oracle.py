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
    """One query as it is sent: exactly one of cmd, sql, path and uri is set."""

    type: str
    timeout_ms: int
    cmd: str | None = None
    sql: str | None = None
    path: str | None = None
    uri: str | None = None


@dataclass(frozen=True)
class Raw:
    """The unparsed result of one query.

    A command that ran has an exit code, and its stderr is `error`. Other queries have no exit code;
    their `error` says why there is no answer.
    """

    data: bytes = b""
    exit_code: int | None = None
    error: str = ""

    @property
    def answered(self) -> bool:
        return self.exit_code is not None or not self.error


class NoAnswer(EmufarmError):
    """A query without an answer, which is never a negative answer."""


# Yields a query, is sent its raw result, and returns the facts. NoAnswer is thrown into it if there
# was no answer; it raises DeviceFault if the raw result is not an answer.
Inquiry = Generator[Query, Raw, Json]


@dataclass(frozen=True)
class Decision:
    holds: bool | None  # None: the facts do not decide
    reason: str


class Oracle(Protocol):
    @property
    def question(self) -> SimpleQuestion:
        """The question with every role resolved: enough to make this oracle again."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Why an agent cannot deceive the oracle."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Capabilities of the phone (device/capabilities.py) and of the harness."""
        ...

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The packages on whose versions the answer depends."""
        ...

    @property
    def tentative(self) -> bool:
        """Whether a later effect may undo what holds now, as with an absence or an exact count."""
        ...

    def inquire(self) -> Inquiry:
        """Yields queries and returns facts. Facts contain no row ids, no dates and nothing else
        that differs between two phones in the same state."""
        ...

    def decide(self, facts: Json) -> Decision:
        """A pure function of the facts."""
        ...


@dataclass(frozen=True)
class InquiryResult:
    """A completed inquiry: each query with its raw result, and the facts or the fault that
    prevented them."""

    answers: tuple[tuple[Query, Raw], ...]
    facts: Json = None
    fault: str | None = None


def run_inquiry(oracle: Oracle, run: Callable[[Query], Raw]) -> InquiryResult:
    """Runs every query of an inquiry; the same raw results always give the same facts."""
    answers: list[tuple[Query, Raw]] = []
    inquiry = oracle.inquire()
    try:
        query = next(inquiry)
        while True:
            raw = run(query)
            answers.append((query, raw))
            query = inquiry.send(raw) if raw.answered else inquiry.throw(NoAnswer(raw.error))
    except StopIteration as ended:
        # As they will be read back: what UTF-8 cannot encode is replaced before the digest.
        facts = json.loads(canonical(ended.value).decode("utf-8", "replace"))
        return InquiryResult(tuple(answers), facts)
    except (NoAnswer, DeviceFault) as fault:
        return InquiryResult(tuple(answers), fault=str(fault))


@dataclass(frozen=True)
class Verdict:
    """The verdict of one oracle. `holds` is None if the question could not be answered."""

    oracle: Oracle
    phase: str  # pre | post
    holds: bool | None
    reason: str
    inquiry: InquiryResult
    polls: int
    seconds: float
    faults: tuple[str, ...] = ()  # of the inquiries that gave no facts
    retries: tuple[str, ...] = ()  # transport errors after which a query was repeated

    @property
    def name(self) -> str:
        return self.oracle.question.name


def unanswered(why: str) -> str:
    """The reason of a verdict without facts."""
    return f"could not be asked: {why}"
