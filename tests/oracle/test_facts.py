"""Facts and decisions computed from raw results only, both usual and malformed ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cases.oracles import Question
from orchestrator.events.canonical import digest
from orchestrator.oracle.factory import FAMILIES, make_oracle, question_fields
from orchestrator.oracle.oracle import InquiryResult, Oracle, Query, Raw, run_inquiry

PACKAGE = """Packages:
  Package [com.x] (1a2b):
    versionCode=7 minSdk=24 targetSdk=34
    versionName=1.2
    installerPackageName=com.android.vending
"""
FOCUS = "  mCurrentFocus=Window{{b8 u0 {}}}\n"
NETWORK = b"""Active default network: 7
  NetworkAgentInfo{network{7}  nc{[ Transports: CELLULAR|VPN Capabilities: MMS ]}}
"""
UP = (b"1\n", b"stopped\n", b"package:/system/framework/framework-res.apk\n")


def oracle_of(**question: Any) -> Oracle[Any]:
    return make_oracle(Question.model_validate({"name": "q", **question}))


def told(oracle: Oracle[Any], *results: bytes | Raw) -> InquiryResult:
    left = iter(results)

    def put(query: Query) -> Raw:
        result = next(left)
        return result if isinstance(result, Raw) else Raw(result, 0 if query.cmd else None)

    return run_inquiry(oracle, put)


@pytest.mark.parametrize(
    ("question", "results", "facts", "holds"),
    [
        ({"boot": {}}, UP, {"completed": True, "animation_over": True, "packages": True}, True),
        (
            {"boot": {}},
            (b"1\n", b"running\n", Raw(b"", 20, "cmd: Can't find service: package\n")),
            {"completed": True, "animation_over": False, "packages": False},
            False,
        ),
        (
            {"boot": {"starts": 1}},
            (*UP, b"2\n"),
            {"completed": True, "animation_over": True, "packages": True, "starts": 2},
            False,
        ),
        (
            {"package": {"name": "com.x", "version": "1.2", "installer": "com.android.vending"}},
            (b"package:com.x.y\npackage:com.x\n", PACKAGE.encode()),
            {"installed": True, "version": "1.2", "installer": "com.android.vending"},
            True,
        ),
        (
            {"package": {"name": "com.x", "installer": "com.android.shell"}},
            (b"package:com.x\n", PACKAGE.encode()),
            {"installed": True, "installer": "com.android.vending"},
            False,
        ),
        ({"package": {"name": "com.x", "version": "1"}}, (b"",), {"installed": False}, False),
        (
            {"window": {"focus": "PopupWindow"}},
            (FOCUS.format("PopupWindow:9f3a1c").encode(),),
            {"found": True},
            True,
        ),
        (
            {"connectivity": {"active": "cellular"}},
            (NETWORK,),
            {"found": "cellular"},
            True,
        ),
        (
            {"sqlite": {"path": "/d", "sql": "S", "equals": [["tea"]], "volatile": ["_id", "at"]}},
            (b"regular file\n", b"{}", b'{"columns":["_id","item","at"],"rows":[[9,"tea",1.5]]}'),
            {"rows": [["tea"]]},
            True,
        ),
        (
            {"sqlite": {"path": "/d", "sql": "S", "equals": []}},
            (b"regular file\n", b"{}", b"null"),
            {"rows": None},
            False,
        ),
        (
            {"composite": {"any": [{"name": "a", "location": {"enabled": True}},
                                   {"name": "b", "bluetooth": {"enabled": True}}]}},
            (Raw(error="device offline"), b"  state: ON\n"),
            {"a": None, "b": {"found": True}},
            True,
        ),
        (
            {"composite": {"all": [{"name": "a", "location": {"enabled": True}},
                                   {"name": "b", "bluetooth": {"enabled": True}}]}},
            (b"maybe\n", b"  state: ON\n"),
            {"a": None, "b": {"found": True}},
            None,
        ),
    ],
)  # fmt: skip
def test_facts_are_what_was_asked_and_decide(
    question: dict[str, Any], results: tuple[bytes | Raw, ...], facts: Any, holds: bool | None
) -> None:
    oracle = oracle_of(**question)
    heard = told(oracle, *results)
    assert (heard.fault, heard.facts) == (None, facts)
    assert len(heard.answers) == len(results)
    assert oracle.decide(heard.facts).holds is holds


def test_volatile_columns_change_the_raw_result_and_nothing_else() -> None:
    asked = {"path": "/d", "sql": "S", "equals": [["tea"]], "volatile": ["at"]}
    rows = (b'{"columns":["item","at"],"rows":[["tea",%d]]}' % at for at in (1, 2))
    digests = {digest(told(oracle_of(sqlite=asked), b"file", b"{}", row).facts) for row in rows}
    assert len(digests) == 1


def test_a_role_is_resolved_and_the_question_says_so() -> None:
    part = {"name": "in_front", "foreground": {"app": "mail"}}
    other = {"name": "may", "appops": {"app": "org.x", "op": "CAMERA", "mode": "deny"}}
    question = Question.model_validate({"name": "q", "composite": {"all": [part, other]}})
    oracle = make_oracle(question, {"mail": "org.mail"})
    assert oracle.depends_on == ("org.mail", "org.x")
    assert question_fields(oracle.question) == {
        "name": "q",
        "kind": "composite",
        "composite": {"all": [{"name": "in_front", "foreground": {"app": "org.mail"}}, other]},
    }


SHELL: dict[str, dict[str, Any]] = {
    "setting": {"namespace": "global", "name": "a", "equals": "1"},
    "rows": {"provider": "sms", "match": {"type": 1}},
    "file": {"path": "/sdcard/a", "json": {"a.0": 1}},
    "package": {"name": "com.x", "version": "1"},
    "foreground": {"app": "com.x", "activity": ".Main"},
    "notification": {"contains": "x"},
    "boot": {"starts": 1},
    "appops": {"app": "com.x", "op": "CAMERA", "mode": "allow"},
    "bluetooth": {"enabled": True},
    "connectivity": {"active": "wifi"},
    "location": {"enabled": True},
    "telephony": {"call": "idle"},
    "window": {"focus": "com.x"},
}


def test_every_question_to_the_shell_is_looked_at_below() -> None:
    ours = {"sqlite", "answer", "receipt", "posted"}  # read what we wrote ourselves
    beyond = {"clipboard", "notification_listener", "network_proxy"}
    assert FAMILIES.keys() - ours - beyond == SHELL.keys()


@pytest.mark.parametrize("kind", SHELL)
@given(data=st.binary() | st.text().map(str.encode), code=st.integers(0, 255), error=st.text())
def test_whatever_a_phone_prints_it_is_facts_or_a_fault(
    kind: str, data: bytes, code: int, error: str
) -> None:
    oracle = oracle_of(**{kind: SHELL[kind]})
    heard = run_inquiry(oracle, lambda query: Raw(data, code, error))
    if heard.fault is None:
        assert oracle.decide(heard.facts).holds in (True, False)
        digest(heard.facts)
    again = run_inquiry(oracle, lambda query: Raw(data, code, error))
    assert again == heard
