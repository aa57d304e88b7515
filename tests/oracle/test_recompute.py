"""A decision can be recomputed from its recorded evidence only, for every kind of question."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.cases.oracles import Question
from orchestrator.evidence.bundle import Bundle
from orchestrator.oracle.factory import FAMILIES, make_oracle
from orchestrator.oracle.oracle import Raw, Verdict, run_inquiry
from orchestrator.oracle.poll import ask_once
from orchestrator.oracle.query_runner import QueryContext
from orchestrator.oracle.recompute import recompute
from orchestrator.oracle.trace import oracle_event
from orchestrator.settings import RAW_LIMIT
from tests.oracle.test_families import FALSE, POSTED, RECEIPTS, ROLES, TRUE, UNASKED, prepare
from tests.whole.conftest import CLEAN, Phone

HEARD: list[dict[str, Any]] = [
    {"answer": {"contains": "two"}},
    {"answer": {"matches": "^Forty"}},
    {"receipt": {"path": "/order", "method": "POST", "form": {"item": "tea"}}},
    {"posted": {"path": "/save", "json": {"a.b.1": "x"}}},
]
UNANSWERED: list[dict[str, Any]] = [
    {"rows": {"uri": "content://nowhere", "match": {"a": 1}}},
    {"posted": {"path": "/large", "json": {"done": True}}},
    {"notification_listener": {"contains": "x"}},
    {"network_proxy": {"host": "example.com"}},
    {"composite": {"all": [UNASKED, {"name": "up", "boot": {}}]}},
]
Event = dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """What a bundle has of many questions."""

    folder: Path
    events: tuple[Event, ...]

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def one(self, kind: str) -> Event:
        return copy.deepcopy(next(e for e in self.events if e["oracle_type"] == kind))


@pytest.fixture(scope="module")
def recorded(booted: Phone, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("again") / "bundle"
    prepare(booted.device)
    context = QueryContext(booted.device, "Forty two \ud800", (*RECEIPTS, *POSTED))
    with Bundle(folder) as bundle:
        for question in (*TRUE, *FALSE, *HEARD, *UNANSWERED, {"file": {"path": "/sdcard"}}):
            oracle = make_oracle(Question.model_validate({"name": "q", **question}), ROLES)
            for forbidden in (False, True):
                verdict = ask_once(oracle, context, "post")
                event = oracle_event(verdict, bundle.raw, forbidden=forbidden)
                bundle.event("oracle_trace", "oracle", **event)
    booted.device.snapshots.load(CLEAN)
    lines = (folder / "oracle_trace.jsonl").read_bytes().splitlines()
    return Recorded(folder, tuple(json.loads(line) for line in lines))


def test_every_kind_of_question_gives_the_same_decision_again(recorded: Recorded) -> None:
    assert [text for event in recorded.events for text in recompute(event, recorded.read)] == []
    kinds = {event["oracle_type"] for event in recorded.events}
    assert kinds | {"clipboard"} == FAMILIES.keys() | {"composite"}


def flipped(event: Event) -> None:
    event["decision"]["success"] = not event["decision"]["success"]


def scored(event: Event) -> None:
    event["decision"]["score"] = 0.5


def concluded(event: Event) -> None:
    event["decision"]["conclusive"] = not event["decision"]["conclusive"]


def reworded(event: Event) -> None:
    event["decision"]["reason"] = "because"


def inverted(event: Event) -> None:
    event["forbidden"] = not event["forbidden"]


def other_facts(event: Event) -> None:
    event["facts"] = {"so": True}


def other_digest(event: Event) -> None:
    event["result_digest"] = "0" * 64


def other_query(event: Event) -> None:
    event["queries"][0]["timeout_ms"] += 1


def one_more_raw(event: Event) -> None:
    event["raw"].append(event["raw"][0])


def one_raw_less(event: Event) -> None:
    event["raw"].pop()


def other_error(event: Event) -> None:
    event["raw"][-1] |= {"exit_code": None, "error": "it was never answered"}


def other_name(event: Event) -> None:
    event["question"]["name"] = "another"


def less_needed(event: Event) -> None:
    event["capabilities_required"] = ["nothing"]


TAMPERED: list[Callable[[Event], None]] = [
    flipped, scored, concluded, reworded, inverted, other_facts, other_digest, other_query,
    one_more_raw, one_raw_less, other_error, other_name, less_needed,
]  # fmt: skip


@pytest.mark.parametrize("tamper", TAMPERED)
def test_whatever_was_changed_in_an_event_is_found(
    recorded: Recorded, tamper: Callable[[Event], None]
) -> None:
    """Of what could not be asked, forbidden or not, nothing succeeds: there it changes nothing."""
    unfound = []
    for event in recorded.events:
        changed = copy.deepcopy(event)
        tamper(changed)
        silent = tamper is inverted and not event["decision"]["conclusive"]
        if not recompute(changed, recorded.read) and not silent:
            unfound.append(event["question"])
    assert unfound == []


def test_a_raw_result_that_is_not_what_was_recorded_is_found(recorded: Recorded) -> None:
    for event in recorded.events:
        [problem] = recompute(event, lambda name: recorded.read(name)[:-1] + b"\0\0")
        assert "differs from its recorded size or digest" in problem
        [problem] = recompute(event, lambda name: (recorded.folder / "none" / name).read_bytes())
        assert "cannot be read" in problem


def test_a_small_result_that_is_said_to_have_been_cut_is_found(recorded: Recorded) -> None:
    """Else whoever wants other facts would only have to claim a longer result."""
    for event in recorded.events:
        claimed = copy.deepcopy(event)
        claimed["raw"][0]["size"] += 1
        [problem] = recompute(claimed, recorded.read)
        assert "differs from its recorded size or digest" in problem


def replaced(event: Event, data: bytes) -> Callable[[str], bytes]:
    """Other raw bytes, with digest and size that agree: the work of a careful forger."""
    event["raw"][-1] |= {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    last = event["raw"][-1]["file"] = "oracle_raw/forged.txt"
    return lambda name: data if name == last else b""


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("setting", b"another value\n"),
        ("rows", b"Row: 0 _id=1\nRow: 1 _id=2\n"),
        ("rows", b"Row: 0 _id=1\n" * 7),
        ("location", b"neither\n"),
        ("telephony", b"    mCallState=2\n"),
        ("answer", b'"something else"'),
        ("answer", b"no JSON"),
        ("receipt", b"[]"),
        ("posted", b'{"not": "a list"}'),
        ("appops", b"CAMERA: ignore; time=+1h ago\n"),
        ("connectivity", b"Active default network: none\n"),
    ],
)
def test_raw_results_that_say_something_else_are_found(
    recorded: Recorded, kind: str, data: bytes
) -> None:
    event = recorded.one(kind)
    assert recompute(event, replaced(event, data)) != []


def test_a_question_that_was_made_easier_is_found(recorded: Recorded) -> None:
    event = next(
        copy.deepcopy(e)
        for e in recorded.events
        if e["oracle_type"] == "setting" and not e["decision"]["success"] and not e["forbidden"]
    )
    event["question"]["setting"]["equals"] = event["facts"]["value"]
    assert recompute(event, recorded.read) != []


def test_of_a_cut_result_the_facts_are_taken_and_the_decision_is_not(tmp_path: Path) -> None:
    question = {"name": "q", "file": {"path": "/sdcard/large", "contains": "needle"}}
    oracle = make_oracle(Question.model_validate(question))
    data = b"x" * RAW_LIMIT + b"needle"
    results = iter((Raw(b"regular file\n", 0), Raw(data, 0)))
    told = run_inquiry(oracle, lambda query: next(results))
    with Bundle(tmp_path / "bundle") as bundle:
        event = oracle_event(
            Verdict(oracle, "post", True, oracle.decide(told.facts).reason, told, 1, 0.0),
            bundle.raw,
        )

        def read(name: str) -> bytes:
            return (bundle.folder / name).read_bytes()

        assert len(read(event["raw"][1]["file"])) == RAW_LIMIT
        assert event["raw"][1]["size"] == len(data)
        assert event["raw"][1]["sha256"] == hashlib.sha256(data).hexdigest()
        assert recompute(event, read) == []
        for tamper in (flipped, other_facts, other_digest, scored):
            changed = copy.deepcopy(event)
            tamper(changed)
            assert recompute(changed, read) != [], tamper


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_event_however_broken_breaks_the_check(recorded: Recorded, data: st.DataObject) -> None:
    event = copy.deepcopy(data.draw(st.sampled_from(recorded.events)))
    place: Any = event
    key: Any = data.draw(st.sampled_from(sorted(event)))
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(
            st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))
        )
    place[key] = data.draw(JSON)
    assert all(isinstance(problem, str) for problem in recompute(event, recorded.read))
