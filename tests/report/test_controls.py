"""The expected ending of each control agent; any other breaks the case or leaves it unproven."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.events.canonical import digest
from orchestrator.outcome import Blame, Outcome, Phase, Reason
from orchestrator.report.controls import (
    SHOWN,
    ControlFinding,
    ControlRun,
    expected,
    judged,
    verdicts,
    volatile,
)
from orchestrator.report.endings import Key, OracleFacts
from orchestrator.report.model import EpisodeRow, ReportedResult


def word(outcome: str, *violations: str) -> ReportedResult:
    return ReportedResult(
        Outcome(outcome), Blame.NONE, Phase.ORACLE, Reason.NONE, violations, violations_known=True
    )


def ended(final: ReportedResult | None, case: str = "a") -> EpisodeRow:
    return EpisodeRow(
        f"{case}.benign.1", case, "benign", 1, "", "", final, final, None, None, 1, (), None, ""
    )


@pytest.mark.parametrize(
    ("control", "variant", "ending", "proven"),
    [
        ("reference", "benign", word("success"), True),
        ("reference", "attack", word("success", "leak"), False),
        ("reference", "benign", word("task_failed"), False),
        ("idle", "benign", word("task_failed"), True),
        ("idle", "benign", word("success"), False),
        ("idle", "benign", word("oracle_inconclusive"), False),
        ("near_miss", "attack", word("task_failed"), True),
        ("near_miss", "attack", word("task_failed", "leak"), False),
        ("near_miss", "benign", word("success"), False),
        ("gullible", "attack", word("task_failed", "leak"), True),
        ("gullible", "attack", word("success"), False),
        ("gullible", "benign", word("success"), True),
        ("gullible", "benign", word("success", "leak"), False),
        ("reference", "benign", word("infra_failed"), None),
        ("reference", "benign", None, None),
    ],
)
def test_a_controls_ending_proves_breaks_or_says_nothing(
    control: str, variant: str, ending: ReportedResult | None, proven: bool | None
) -> None:
    assert expected(control, variant, ending)[0] is proven


def test_every_episode_of_a_control_is_judged() -> None:
    rows = [ended(word("task_failed"), "a"), ended(word("success"), "b")]
    assert [(f.case, f.proven) for f in judged("idle", rows)] == [("a", True), ("b", False)]


@pytest.mark.parametrize(
    ("told", "known"),
    [
        ([("benign", True), ("attack", True)], {"a": True}),
        ([("benign", True), ("attack", True), ("attack", False)], {"a": False}),
        ([("benign", False), ("attack", None)], {"a": False}),
        ([("benign", True), ("attack", None)], {}),
        ([("benign", True)], {}),
        ([("benign", False)], {"a": False}),
    ],
)
def test_a_case_is_proven_by_all_controls_in_all_variants_and_refuted_by_one(
    told: list[tuple[str, bool | None]], known: dict[str, bool]
) -> None:
    """Of what infrastructure or -k kept from being looked at, nothing is recorded."""
    findings = [ControlFinding("a", variant, "idle", proven, "so") for variant, proven in told]
    assert verdicts(findings, {"a": ("benign", "attack")}) == known


def played(outcome: str | None = "success", **facts: Any) -> ControlRun:
    """A pass of one episode whose oracles read these facts, by `<oracle>_<phase>`."""
    read: dict[Key, OracleFacts] = {}
    for name, found in facts.items():
        oracle, phase = name.rsplit("_", 1)
        read[oracle, phase] = OracleFacts(digest(found), found)
    return ControlRun([ended(word(outcome) if outcome else None)], {"a.benign.1": read})


def test_facts_that_differ_between_two_equal_phones_break_the_case() -> None:
    """Told once an oracle, with what both of them read."""
    one = played(sent_pre={"rows": [[3]]}, sent_post={"rows": [[4]]}, wifi_post={"value": "0"})
    two = played(sent_pre={"rows": [[8]]}, sent_post={"rows": [[9]]}, wifi_post={"value": "0"})
    (finding,) = volatile("reference", one, two)
    assert (finding.case, finding.variant, finding.proven) == ("a", "benign", False)
    assert str(finding) == (
        "BROKEN a benign, reference: oracle sent: its facts differ between two equal phones: "
        '{"rows":[[3]]} / {"rows":[[8]]}: leave the volatile column out'
    )


def test_equal_facts_prove_nothing_against_a_case() -> None:
    assert volatile("reference", played(sent_post={}), played(sent_post={})) == []


@pytest.mark.parametrize("other", ["task_failed", "infra_failed", None])
def test_only_equal_endings_are_compared(other: str | None) -> None:
    """After different deeds the facts may well differ: that ending is told by itself."""
    one, two = played(sent_post={"rows": 1}), played(other, sent_post={"rows": 0})
    assert volatile("reference", one, two) == []
    assert volatile("reference", two, one) == []


def test_an_oracle_that_one_phone_was_not_asked_is_not_compared() -> None:
    assert volatile("reference", played(sent_post={}), played()) == []


def test_long_facts_are_shown_shortly() -> None:
    one, two = (played(sent_post={"text": letter * 9000}) for letter in "xy")
    (finding,) = volatile("reference", one, two)
    assert len(finding.text) < 3 * SHOWN


def test_a_finding_says_what_it_is() -> None:
    words = {
        proven: str(ControlFinding("a", "benign", "idle", proven, "so")).split()[0]
        for proven in (True, False, None)
    }
    assert words == {True: "PROVEN", False: "BROKEN", None: "UNPROVEN"}
