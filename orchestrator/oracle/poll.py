"""Polls oracles until each verdict is final: until it holds or its settle time has passed.

Effects are eventual: what does not hold yet may hold soon. An absence or an exact count is final
only after the settle time. A forbidden effect is final as soon as it is seen. A phone that cannot
be asked gives no answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from .oracle import InquiryResult, Oracle, Raw, Verdict, run_inquiry
from .query_runner import QueryContext, QueryRunner

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 0.5
BOUND_S = 60.0
MOST_FAULTS = 20


def ask_once(oracle: Oracle[Any], context: QueryContext, phase: str) -> Verdict:
    """Asks once, as before the agent starts and after each of its steps."""
    return _Polled(oracle, phase, 0.0, lasting=True).ask(context)


def poll(
    oracles: Sequence[Oracle[Any]],
    context_now: Callable[[], QueryContext],
    settle_s: float,
    phase: str,
    *,
    forbidden: Collection[str] = (),
    bound_s: float = BOUND_S,
    pause: Callable[[float], object] = time.sleep,
) -> list[Verdict]:
    """Returns a verdict for each oracle, in their order; all are polled in the same period.

    `context_now` returns the context for each round; `forbidden` has the names of forbidden
    effects; no inquiry starts later than `bound_s` after the settle time.
    """
    polled = []
    for oracle in oracles:
        lasting = oracle.question.name in forbidden or not oracle.tentative
        polled.append(_Polled(oracle, phase, settle_of(oracle, settle_s), lasting))
    started, wait = time.monotonic(), FIRST_PAUSE_S
    longest = max((each.settle_s for each in polled), default=0.0)
    while pending := [each for each in polled if not each.decided]:
        elapsed = time.monotonic() - started
        context = context_now()
        for each in pending:
            if time.monotonic() - started > longest + bound_s:
                each.give_up(f"no longer asked after {longest + bound_s:g} s")
            else:
                each.ask(context, elapsed)
        left = [each.settle_s for each in polled if not each.decided]
        if left:
            # Do not sleep past the moment from which an answer is final.
            pause(max(0.0, min(wait, min(left) - (time.monotonic() - started))))
            wait = min(2 * wait, LONGEST_PAUSE_S)
    return [each.verdict for each in polled]


def settle_of(oracle: Oracle[Any], settle_s: float) -> float:
    """The question's own settle time, or the profile's."""
    own: float | None = getattr(oracle.question, "settle", None)
    return settle_s if own is None else own


@dataclass
class _Polled:
    """The state of one oracle while it is polled."""

    oracle: Oracle[Any]
    phase: str
    settle_s: float
    lasting: bool  # a verdict that holds is final
    decided: bool = False
    _polls: int = 0
    _faults: list[str] = field(default_factory=list)
    _retries: list[str] = field(default_factory=list)
    _started: float = field(default_factory=time.monotonic)
    _verdict: Verdict | None = None

    @property
    def verdict(self) -> Verdict:
        assert self._verdict is not None, "asked at least once"
        return self._verdict

    def ask(self, context: QueryContext, elapsed: float = 0.0) -> Verdict:
        """Asks; the answer is final if it came late enough, or if it holds and lasts."""
        self._polls += 1
        with QueryRunner(context) as runner:
            inquiry = run_inquiry(self.oracle, runner.run)
        self._retries = [*self._retries, *runner.retries][-MOST_FAULTS:]
        self._judge(inquiry)
        self.decided = elapsed >= self.settle_s or (self.lasting and bool(self.verdict.holds))
        return self.verdict

    def give_up(self, why: str) -> None:
        self._judge(run_inquiry(self.oracle, lambda query: Raw(error=why)))
        self.decided = True

    def _judge(self, inquiry: InquiryResult) -> None:
        decision = inquiry.decision(self.oracle)
        if inquiry.fault is not None:
            self._faults = [*self._faults, inquiry.fault][-MOST_FAULTS:]
        self._verdict = Verdict(
            oracle=self.oracle,
            phase=self.phase,
            holds=decision.holds,
            reason=decision.reason,
            inquiry=inquiry,
            polls=self._polls,
            seconds=time.monotonic() - self._started,
            faults=tuple(self._faults),
            retries=tuple(self._retries),
        )
