"""The oracle: its queries, their raw results, its typed facts and its decision.

An oracle is pure. It yields a query, receives the raw result, yields the next query and finally
returns facts; its decision depends on the facts alone. The query runner (query_runner.py) keeps
every raw result, so that the inquiry can be repeated without a phone (recompute.py).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..cases.oracles import PostedIs, ReceiptIs, RowsAre, SimpleQuestion
from ..device.adb_socket import ShellResult
from ..device.faults import DeviceFault
from ..device.identity import ROOT, SHELL
from ..device.shell import command_line, succeeded
from ..errors import EmufarmError
from ..events.canonical import Json, canonical

COMMAND_S = 10.0
UNANSWERED = "could not be asked: "  # before the fault, in the reason of a verdict without facts


@dataclass(frozen=True)
class Query:
    """One query as it is sent: exactly one of cmd, sql and path is set."""

    type: str
    timeout_ms: int
    cmd: str | None = None
    sql: str | None = None
    path: str | None = None


@dataclass(frozen=True)
class Raw:
    """The unparsed result of one query."""

    data: bytes = b""
    exit_code: int | None = None  # of a command that ran
    error: str = ""  # the stderr of a command that ran; else why there is no answer

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


A = TypeVar("A")
CountQuestion = TypeVar("CountQuestion", bound=RowsAre | ReceiptIs | PostedIs)


class Oracle(ABC, Generic[A]):
    """The oracle for a question with every role resolved: enough to make this oracle again."""

    def __init__(self, question: SimpleQuestion) -> None:
        self.question = question
        self.asked: A = getattr(question, question.kind)

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """Why an agent cannot deceive the oracle."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Capabilities of the phone (device/identity.py) and of the harness."""
        return (SHELL, ROOT) if getattr(self.asked, "root", False) else (SHELL,)

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The packages on whose versions the answer depends."""
        return ()

    @property
    def tentative(self) -> bool:
        """Whether a later effect may undo what holds now, as with an absence or an exact count."""
        return False

    @abstractmethod
    def inquire(self) -> Inquiry:
        """Yields queries and returns facts. Facts contain no row ids, no dates and nothing else
        that differs between two phones in the same state."""

    @abstractmethod
    def decide(self, facts: Json) -> Decision:
        """A pure function of the facts."""


class CountOracle(Oracle[CountQuestion]):
    """Counts what matches; without a wanted `count` at least one is needed."""

    what: str  # is counted; also the name of the fact

    @property
    def tentative(self) -> bool:
        return self.asked.count is not None

    def decide(self, facts: Json) -> Decision:
        found, wanted = facts[self.what], self.asked.count
        holds = found > 0 if wanted is None else found == wanted
        meant = "at least one" if wanted is None else f"exactly {wanted}"
        return Decision(holds, f"{found} matching {self.what}, {meant} wanted")


def shell(
    type: str, *words: str, root: bool = False, seconds: float = COMMAND_S
) -> Generator[Query, Raw, ShellResult]:
    """Runs a shell command and returns its result, whatever its exit code."""
    query = Query(type, round(seconds * 1000), cmd=command_line(words, root=root))
    raw = yield query
    assert raw.exit_code is not None, "an answered command has an exit code"
    return ShellResult(query.cmd or "", raw.data, raw.error.encode(), raw.exit_code)


def output(type: str, *words: str, root: bool = False) -> Generator[Query, Raw, str]:
    """Runs a shell command and returns its stdout; anything but a clean success is a fault."""
    return succeeded((yield from shell(type, *words, root=root))).text


@dataclass(frozen=True)
class InquiryResult:
    """A completed inquiry: each query with its raw result, and the facts or a fault instead."""

    answers: tuple[tuple[Query, Raw], ...]
    facts: Json = None
    fault: str | None = None

    def decision(self, oracle: Oracle[Any]) -> Decision:
        if self.fault is None:
            return oracle.decide(self.facts)
        return Decision(None, f"{UNANSWERED}{self.fault}")


def run_inquiry(oracle: Oracle[Any], run: Callable[[Query], Raw]) -> InquiryResult:
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

    oracle: Oracle[Any]
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
