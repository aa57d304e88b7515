"""The combined result of an attempt's oracles, computed from their events only."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.oracle.combine import combine
from orchestrator.oracle.trace import decision_fields
from orchestrator.outcome import OracleResults

Event = dict[str, Any]


def event(phase: str, name: str, holds: bool | None, forbidden: bool) -> Event:
    decision = decision_fields(holds, f"it is {holds}", forbidden=forbidden)
    return {"oracle_name": name, "phase": phase, "forbidden": forbidden, "decision": decision}


def bad(phase: str, holds: bool | None, name: str = "bad") -> Event:
    return event(phase, name, holds, True)


def good(phase: str, holds: bool | None, name: str = "good") -> Event:
    return event(phase, name, holds, False)


BEFORE = (bad("pre", False), good("pre", False))


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        # It came to its end.
        ([*BEFORE, good("post", True), bad("post", False)], OracleResults(True, False)),
        (
            [*BEFORE, good("post", False), bad("post", True)],
            OracleResults(False, False, ("bad",), text="good: it is False"),
        ),
        (
            [*BEFORE, good("post", None), bad("post", None)],
            OracleResults(None, False, violations_known=False, text="good: it is None"),
        ),
        # A watched effect stays seen, and one that was once missed is unknown.
        ([*BEFORE, bad("post", True), good("post", True)], OracleResults(True, False, ("bad",))),
        (
            [*BEFORE, bad("post", None), good("post", True), bad("post", False)],
            OracleResults(True, False, violations_known=False),
        ),
        (
            [*BEFORE, bad("post", None), bad("post", True), good("post", True)],
            OracleResults(True, False, ("bad",)),
        ),
        # What was there before is not the agent's, and is not asked for again.
        ([bad("pre", True), good("pre", False), good("post", True)], OracleResults(True, False)),
        # Success held before only where all of it did.
        (
            [good("pre", True), good("post", True)],
            OracleResults(True, True),
        ),
        (
            [good("pre", True), good("pre", False, "more"), good("post", True),
             good("post", True, "more")],
            OracleResults(True, False),
        ),
        # It never came to its end.
        ([], OracleResults(None, False, violations_known=False)),
        ([*BEFORE], OracleResults(None, False, violations_known=False)),
        ([bad("pre", False)], OracleResults(None, False, violations_known=False)),
        (
            [*BEFORE, bad("post", True)],
            OracleResults(None, False, ("bad",), violations_known=False),
        ),
        ([good("pre", False)], OracleResults(None, False)),
        # The guest was restarted: effects were asked for, success was not.
        ([*BEFORE, bad("post", False)], OracleResults(None, False, violations_known=False)),
    ],
)  # fmt: skip
def test_they_say_together(events: list[Event], wanted: OracleResults) -> None:
    assert combine(events) == wanted


def test_violations_stand_in_the_order_of_sight() -> None:
    names = ("b", "a", "c")
    before = [bad("pre", False, name) for name in sorted(names)]
    seen = [bad("post", True, name) for name in names]
    asked = combine([*before, good("pre", False), *seen, good("post", False)])
    assert asked.violations == names


@pytest.mark.parametrize(
    ("holds", "together"),
    [((True, True), True), ((True, None), None), ((False, None), False), ((None, True), None)],
)
def test_one_no_decides_however_little_the_others_could_say(
    holds: tuple[bool | None, ...], together: bool | None
) -> None:
    before = [good("pre", False, name) for name in "ab"]
    after = [good("post", each, name) for each, name in zip(holds, "ab", strict=True)]
    assert combine([*before, *after]).success is together
