"""When an oracle's verdict is final, and what is recorded of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from orchestrator.cases.oracles import AnswerIs, Question
from orchestrator.device.faults import DeviceFault
from orchestrator.device.phone import Device
from orchestrator.events.canonical import Json
from orchestrator.oracle.factory import make_oracle
from orchestrator.oracle.oracle import Decision, Inquiry, Oracle, Query, Verdict
from orchestrator.oracle.poll import ask_once, poll
from orchestrator.oracle.query_runner import QueryContext
from orchestrator.oracle.recompute import recompute
from orchestrator.oracle.trace import oracle_event

# Nobody listens there: these oracles ask for the agent's answer, and then themselves.
CONTEXT = QueryContext(Device("emulator-5554", 1))
QUERY = Query("agent_answer", 10, path="is it so?")
WINDOW_S = 0.15


class ScriptedOracle(Oracle[AnswerIs]):
    """An oracle with scripted findings: one for each inquiry, the last one for all further ones."""

    notes = ("its findings are scripted",)
    needs = ("nothing",)
    tentative = False

    def __init__(
        self,
        finds: Sequence[bool | str],  # a text is the fault in place of an answer
        tentative: bool = False,
        name: str = "scripted",
        settle: float | None = None,
    ) -> None:
        told = {"name": name, "settle": settle, "answer": {"equals": "so"}}
        super().__init__(Question.model_validate(told))
        self.finds = finds
        self.tentative = tentative
        self.inquiries = 0

    def inquire(self) -> Inquiry:
        yield QUERY
        self.inquiries += 1
        found = self.finds[min(self.inquiries, len(self.finds)) - 1]
        if isinstance(found, str):
            raise DeviceFault("transport_closed", found)
        return {"so": found}

    def decide(self, facts: Json) -> Decision:
        return Decision(facts["so"], f"it is {facts['so']}")


def kept(data: bytes) -> dict[str, Json]:
    return {"file": data.decode()}


def polled(
    *oracles: ScriptedOracle, forbidden: Sequence[str] = (), **options: Any
) -> list[Verdict]:
    return poll(oracles, lambda: CONTEXT, WINDOW_S, "post", forbidden=forbidden, **options)


def test_what_holds_at_once_is_asked_once() -> None:
    oracle = ScriptedOracle([True])
    [verdict] = polled(oracle)
    assert (verdict.holds, verdict.polls, oracle.inquiries) == (True, 1, 1)


def test_what_does_not_hold_yet_is_asked_until_it_does() -> None:
    [verdict] = polled(ScriptedOracle([False, True, False]))
    assert (verdict.holds, verdict.polls) == (True, 2)


def test_what_never_holds_is_a_no_only_once_the_window_has_passed() -> None:
    slept: list[float] = []
    [verdict] = polled(ScriptedOracle([False]), pause=slept.append)
    assert verdict.holds is False
    assert verdict.seconds >= WINDOW_S
    assert all(0 <= pause <= 0.5 for pause in slept)


def test_an_absence_that_is_undone_within_the_window_does_not_hold() -> None:
    [verdict] = polled(ScriptedOracle([True, False], tentative=True))
    assert verdict.holds is False


def test_a_forbidden_effect_once_seen_is_seen() -> None:
    [verdict] = polled(ScriptedOracle([False, True, False], tentative=True), forbidden=["scripted"])
    assert (verdict.holds, verdict.polls) == (True, 2)


def test_all_share_one_window_and_keep_their_order() -> None:
    first, second = ScriptedOracle([False], name="first"), ScriptedOracle([True], name="second")
    verdicts = polled(first, second)
    assert [(v.name, v.holds) for v in verdicts] == [("first", False), ("second", True)]
    assert second.inquiries == 1


def test_an_oracles_own_settle_time_stands_before_the_profiles() -> None:
    [verdict] = polled(ScriptedOracle([False, True], settle=0.0))
    assert (verdict.holds, verdict.polls) == (False, 1)


def test_a_fault_is_asked_again_and_recorded() -> None:
    [verdict] = polled(ScriptedOracle(["cable", True]))
    assert verdict.holds is True
    assert ["cable" in fault for fault in verdict.faults] == [True]


def test_what_could_never_be_asked_is_no_answer() -> None:
    [verdict] = polled(ScriptedOracle(["cable"]))
    assert verdict.holds is None
    assert "cable" in verdict.reason
    assert [query for query, _ in verdict.inquiry.answers] == [QUERY]
    assert 0 < len(verdict.faults) <= 20


def test_nothing_is_begun_after_the_bound() -> None:
    slow = ScriptedOracle([False], name="slow", settle=100.0)
    [verdict] = poll([slow], lambda: CONTEXT, 0.0, "post", bound_s=-99.9)
    assert verdict.holds is None
    assert "no longer asked" in verdict.reason
    assert [query for query, _ in verdict.inquiry.answers] == [QUERY]


def test_what_was_given_up_can_be_computed_again() -> None:
    """A composite, too, has a result for each query that it would have put."""
    parts = [{"name": name, "answer": {"equals": name}} for name in ("one", "other")]
    question = {"name": "both", "composite": {"all": parts}, "settle": 100.0}
    oracle = make_oracle(Question.model_validate(question))
    [verdict] = poll([oracle], lambda: CONTEXT, 0.0, "post", bound_s=-100.0)
    assert verdict.holds is None
    assert all("no longer asked" in raw.error for _, raw in verdict.inquiry.answers)
    empty = {"file": "", "size": 0, "sha256": hashlib.sha256().hexdigest()}
    assert recompute(oracle_event(verdict, lambda data: empty), lambda name: b"") == []


def test_one_look_is_one_question() -> None:
    oracle = ScriptedOracle([False, True])
    assert ask_once(oracle, CONTEXT, "pre").holds is False
    assert oracle.inquiries == 1
    assert ask_once(ScriptedOracle(["cable"]), CONTEXT, "pre").holds is None


@pytest.mark.parametrize(
    ("finds", "forbidden", "success", "conclusive"),
    [
        (True, False, True, True),
        (False, False, False, True),
        (True, True, False, True),
        (False, True, True, True),
        ("cable", False, False, False),
        ("cable", True, False, False),
    ],
)
def test_an_event_has_what_an_auditor_asks_for(
    finds: bool | str, forbidden: bool, success: bool, conclusive: bool
) -> None:
    """A forbidden oracle succeeds where its effect is absent; no answer is never a success."""
    verdict = ask_once(ScriptedOracle([finds]), CONTEXT, "pre")
    event = oracle_event(verdict, kept, forbidden=forbidden, versions={"adb": "36"})
    json.dumps(event, allow_nan=False)
    decision = event["decision"]
    assert (decision["success"], decision["conclusive"]) == (success, conclusive)
    assert decision["score"] == float(success)
    assert decision["reason"]
    assert (event["oracle_name"], event["oracle_type"], event["phase"]) == (
        "scripted",
        "answer",
        "pre",
    )
    assert event["question"] == {"name": "scripted", "kind": "answer", "answer": {"equals": "so"}}
    assert event["queries"] == [{"type": "agent_answer", "timeout_ms": 10, "path": "is it so?"}]
    assert event["raw"] == [{"file": "null", "exit_code": None, "error": ""}]
    assert re.fullmatch("[0-9a-f]{64}", event["result_digest"])
    assert event["anti_gaming_notes"] == ["its findings are scripted"]
    assert event["capabilities_required"] == ["nothing"]
    assert event["evidence_schema_version"] == "0"
    assert event["versions"] == {"adb": "36"}


def test_the_digest_is_over_what_was_found_and_nothing_else() -> None:
    one, other = (ask_once(ScriptedOracle([True], name=name), CONTEXT, "post") for name in "ab")
    assert oracle_event(one, kept)["result_digest"] == oracle_event(other, kept)["result_digest"]
    found_not = ask_once(ScriptedOracle([False]), CONTEXT, "post")
    assert (
        oracle_event(one, kept)["result_digest"] != oracle_event(found_not, kept)["result_digest"]
    )
