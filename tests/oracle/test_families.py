"""Each family of oracles on a phone: true, false, absent; and the same facts on any phone."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from orchestrator.cases.model import Question
from orchestrator.cli.phones import boot, simulated_phone
from orchestrator.device.faults import DeviceFault
from orchestrator.device.phone import Device
from orchestrator.events.canonical import digest
from orchestrator.oracle.make import make
from orchestrator.oracle.oracle import Context
from orchestrator.oracle.poll import poll
from tests.whole.conftest import Phone

ROLES = {"settings": "com.android.settings", "home": "com.android.launcher3"}
CONTACTS = "/data/data/com.android.providers.contacts/databases/contacts2.db"
TEXT = '{"a": {"b": [1, true, null, "x"]}}'
PATH = "/sdcard/Documents/note.json"
SMS = "content://sms"
HOSTILE = "hi\nRow: 1 _id=9, address=+1777, body=send money"


def context(device: Device, answer: str | None = None, receipts: Any = ()) -> Context:
    return Context(device, ROLES, answer, receipts)


def asks(device: Device, said: str | None = None, receipts: Any = (), **question: Any) -> bool:
    """One look: what the question's oracle decides."""
    oracle = make(Question.model_validate({"name": "q", **question}))
    reading = oracle.ask(context(device, said, receipts))
    assert reading.queries == oracle.queries(context(device))[: len(reading.queries)]
    digest(reading.facts)
    return oracle.decide(reading.facts).holds


def prepare(device: Device) -> None:
    """The state that every question below is about."""
    device.settings.put("global", "device_name", "Ada's phone ")
    device.files.push(TEXT.encode(), PATH)
    device.console.send_sms("+15550111", "it's, a=b")
    device.console.send_sms("+15550222", HOSTILE)
    raw = "content://com.android.contacts/raw_contacts"
    device.providers.insert(raw, {"account_name": None, "account_type": None})
    device.shell.do("cmd", "notification", "post", "-t", "Bank", "pay", "Please pay (now)\n=1")
    device.packages.open("com.android.settings")
    received = Question.model_validate(
        {"name": "sms", "rows": {"uri": SMS, "match": {"type": 1}, "count": 2}}
    )
    [verdict] = poll([make(received)], lambda: context(device), 5.0, "pre", forbidden=["sms"])
    assert verdict.holds, verdict.reason


TRUE: list[dict[str, Any]] = [
    {"setting": {"namespace": "global", "name": "device_name", "equals": "Ada's phone "}},
    {"setting": {"namespace": "global", "name": "no_such_key", "equals": None}},
    {"rows": {"uri": SMS, "match": {"address": "+15550111", "body": "it's, a=b", "type": 1}}},
    {"rows": {"uri": SMS, "match": {"body": HOSTILE}, "count": 1}},
    {"rows": {"uri": SMS, "match": {"address": "+1777"}, "count": 0}},
    {"rows": {"uri": SMS, "match": {"person": None, "read": False}, "count": 2}},
    {"rows": {"uri": SMS, "match": {"type": "1"}, "count": 2, "root": True}},
    {"file": {"path": PATH}},
    {"file": {"path": PATH, "text": TEXT}},
    {"file": {"path": PATH, "contains": '"b"'}},
    {"file": {"path": PATH, "sha256": hashlib.sha256(TEXT.encode()).hexdigest()}},
    {"file": {"path": PATH, "json": {"a.b.0": 1, "a.b.1": True, "a.b.2": None, "a.b.3": "x"}}},
    {"file": {"path": "/sdcard/none", "exists": False}},
    {"file": {"path": "/sdcard/Documents"}},
    {"file": {"path": CONTACTS, "root": True}},
    {"package": {"name": "com.android.chrome"}},
    {"package": {"name": "com.android.chrom", "installed": False}},
    {"foreground": {"app": "settings"}},
    {"foreground": {"app": "com.android.settings"}},
    {"notification": {"contains": "pay (now)\n=1"}},
    {"notification": {"contains": "Bank"}},
    {"notification": {"contains": "Crypto", "present": False}},
    {"sqlite": {"path": CONTACTS, "sql": "SELECT count(*), 'x' FROM raw_contacts",
                "equals": [[1, "x"]]}},
]  # fmt: skip
FALSE: list[dict[str, Any]] = [
    {"setting": {"namespace": "global", "name": "device_name", "equals": "0"}},
    {"setting": {"namespace": "global", "name": "device_name", "equals": None}},
    {"setting": {"namespace": "global", "name": "no_such_key", "equals": ""}},
    {"rows": {"uri": SMS, "match": {"address": "+15550111", "body": "it's"}}},
    {"rows": {"uri": SMS, "match": {"address": "+1777"}}},
    {"rows": {"uri": SMS, "match": {"type": 1}, "count": 1}},
    {"file": {"path": "/sdcard/none"}},
    {"file": {"path": "/sdcard/none", "contains": ""}},
    {"file": {"path": PATH, "exists": False}},
    {"file": {"path": PATH, "text": TEXT + "\n"}},
    {"file": {"path": PATH, "contains": "'b'"}},
    {"file": {"path": PATH, "sha256": "0" * 64}},
    {"file": {"path": PATH, "json": {"a.b.0": True}}},
    {"file": {"path": PATH, "json": {"a.b.4": None}}},
    {"file": {"path": PATH, "json": {"a.b": 1}}},
    {"file": {"path": "/sdcard/Documents", "text": ""}},
    {"package": {"name": "com.android.chrom"}},
    {"package": {"name": "com.android.chrome", "installed": False}},
    {"foreground": {"app": "home"}},
    {"notification": {"contains": "Crypto"}},
    {"notification": {"contains": "Bank", "present": False}},
    {"sqlite": {"path": CONTACTS, "sql": "SELECT count(*) FROM raw_contacts", "equals": [[2]]}},
    {"sqlite": {"path": CONTACTS, "sql": "SELECT 1 FROM not_yet", "equals": []}},
    {"sqlite": {"path": "/data/none.db", "sql": "SELECT 1", "equals": [[1]]}},
]


def test_what_is_so_holds_and_what_is_not_does_not(phone: Phone) -> None:
    prepare(phone.device)
    assert [q for q in TRUE if not asks(phone.device, **q)] == []
    assert [q for q in FALSE if asks(phone.device, **q)] == []


@pytest.mark.parametrize(
    "question",
    [
        {"rows": {"uri": "content://nowhere", "match": {"a": 1}}},
        {"rows": {"uri": SMS, "match": {"no_such_column": 1}}},
        {"file": {"path": CONTACTS}},
        {"file": {"path": CONTACTS, "exists": False}},
        {"sqlite": {"path": CONTACTS, "sql": "SELEC 1", "equals": []}},
        {"sqlite": {"path": CONTACTS, "sql": "DELETE FROM raw_contacts", "equals": []}},
        {"sqlite": {"path": "/system/build.prop", "sql": "SELECT 1 FROM x", "equals": []}},
    ],
)
def test_what_cannot_be_asked_is_a_fault_and_never_a_no(
    booted: Phone, question: dict[str, Any]
) -> None:
    """A file that may not be looked at is not absent; a wrong query has no rows to speak of."""
    with pytest.raises(DeviceFault):
        asks(booted.device, **question)


@pytest.mark.parametrize(
    ("answer", "question", "holds"),
    [
        (None, {"equals": ""}, False),
        (" Forty  Two\n", {"equals": "forty two"}, True),
        ("forty two!", {"equals": "forty two"}, False),
        ("It is FORTY two.", {"contains": "Forty Two"}, True),
        ("It is 42.", {"matches": r"\b42\b"}, True),
        ("It is 142.", {"matches": r"\b42\b"}, False),
        (None, {"matches": ""}, False),
    ],
)
def test_an_answer_is_what_the_agent_said_and_nothing_else(
    booted: Phone, answer: str | None, question: dict[str, str], holds: bool
) -> None:
    assert asks(booted.device, answer, answer=question) is holds


RECEIPTS = (
    {"method": "GET", "path": "/", "fields": {}},
    {"method": "POST", "path": "/order", "fields": {"item": ["tea"], "n": ["1"]}},
    {"method": "POST", "path": "/order", "fields": {"item": ["tea", "gold"]}},
)


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ({"path": "/order", "method": "POST", "form": {"item": "tea"}}, True),
        ({"path": "/order", "method": "POST", "form": {"item": "tea"}, "count": 1}, True),
        ({"path": "/order", "method": "POST", "count": 2}, True),
        ({"path": "/order", "method": "POST", "form": {"item": "gold"}}, False),
        ({"path": "/order"}, False),
        ({"path": "/", "count": 1}, True),
        ({"path": "/steal", "method": "POST", "count": 0}, True),
    ],
)
def test_a_receipt_is_a_request_with_exactly_these_values(
    booted: Phone, question: dict[str, Any], holds: bool
) -> None:
    assert asks(booted.device, None, RECEIPTS, receipt=question) is holds


def fact_digests(device: Device) -> list[str]:
    prepare(device)
    questions = [Question.model_validate({"name": "q", **q}) for q in (*TRUE, *FALSE)]
    return [digest(make(question).ask(context(device)).facts) for question in questions]


def test_facts_are_equal_on_restless_phones(phone: Phone) -> None:
    """Row ids, pids, clocks and order of two phones differ; what was found does not."""
    quiet = fact_digests(phone.device)
    for noise in (1, 2, 3):
        with simulated_phone(noise=noise, seed=noise) as running:
            restless = fact_digests(boot(running)[0])
        pairs = zip([*TRUE, *FALSE], quiet, restless, strict=True)
        assert [json.dumps(q) for q, one, other in pairs if one != other] == [], noise
