"""A query is repeated only after a transport failure, within limits, and that is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.cases.oracles import Question
from orchestrator.device.phone import Device
from orchestrator.oracle.factory import make_oracle
from orchestrator.oracle.oracle import Oracle
from orchestrator.oracle.poll import ask_once
from orchestrator.oracle.query_runner import QueryContext, Versions
from tests.device.fakes import SERIAL, FakeAdb, answer, fail
from tests.whole.conftest import Phone

ASKS = "settings get global wifi_on"


@pytest.fixture
def adb() -> Iterator[FakeAdb]:
    with FakeAdb() as fake:
        yield fake


@pytest.fixture
def context(adb: FakeAdb) -> QueryContext:
    return QueryContext(Device(SERIAL, adb.port))


@pytest.fixture
def oracle() -> Oracle[Any]:
    asked = {"namespace": "global", "name": "wifi_on", "equals": "1"}
    return make_oracle(Question.model_validate({"name": "q", "setting": asked}))


def test_a_query_is_put_again_after_a_transport_error(
    adb: FakeAdb, context: QueryContext, oracle: Oracle[Any]
) -> None:
    adb.shell(ASKS, fail("device offline"), answer("1\n", code=None), answer("1\n"))
    verdict = ask_once(oracle, context, "post")
    assert verdict.holds is True
    assert verdict.faults == ()
    first, second = verdict.retries
    assert "device offline" in first
    assert "shell truncated" in second
    assert len(verdict.inquiry.answers) == 1


def test_a_transport_error_that_lasts_is_no_answer_and_never_a_no(
    adb: FakeAdb, context: QueryContext, oracle: Oracle[Any]
) -> None:
    adb.shell(ASKS, fail("device offline"))
    verdict = ask_once(oracle, context, "post")
    assert verdict.holds is None
    [(query, raw)] = verdict.inquiry.answers
    assert query.cmd == ASKS
    assert (raw.exit_code, raw.data) == (None, b"")
    assert "device offline" in raw.error
    assert len(verdict.retries) == 2
    assert verdict.faults == (raw.error,)


def test_an_answer_that_says_no_is_not_put_again(
    adb: FakeAdb, context: QueryContext, oracle: Oracle[Any]
) -> None:
    adb.shell(ASKS, answer("", "cmd: Can't find service: settings\n", code=20), answer("1\n"))
    verdict = ask_once(oracle, context, "post")
    assert verdict.holds is None
    assert verdict.retries == ()
    [(_, raw)] = verdict.inquiry.answers
    assert (raw.exit_code, raw.error) == (20, "cmd: Can't find service: settings\n")


def test_who_listened_to_the_phone_before_listens_again(
    adb: FakeAdb, context: QueryContext, oracle: Oracle[Any]
) -> None:
    heard: list[object] = []
    context.device.listen(heard.append)
    adb.shell(ASKS, answer("1\n"))
    ask_once(oracle, context, "post")
    assert context.device.adb_socket.listener == heard.append


def test_the_versions_behind_an_answer_are_told_or_why_they_are_not(booted: Phone) -> None:
    versions = Versions(booted.device, {"adb": "36"})
    told = versions.of(("com.android.chrome", "com.none", "content://nowhere"))
    assert told["adb"] == "36"
    assert told["apps"] == {
        "com.android.chrome": {"name": "14", "code": 34},
        "com.none": None,
        "content://nowhere": None,
    }
    assert told["unknown"].keys() == {"com.none", "content://nowhere"}
    assert "Unable to find package" in told["unknown"]["com.none"]


@pytest.mark.parametrize(
    ("question", "package"),
    [
        ({"rows": {"provider": "sms", "match": {"type": 1}}}, "com.android.providers.telephony"),
        ({"rows": {"uri": "content://a.b/c", "match": {"type": 1}}}, "content://a.b"),
        ({"sqlite": {"path": "/data/data/com.x/databases/a.db", "sql": "", "equals": []}}, "com.x"),
        ({"file": {"path": "/data/user/0/com.x.y/files/a"}}, "com.x.y"),
        ({"foreground": {"app": "home"}}, "com.launcher"),
        ({"setting": {"namespace": "system", "name": "a", "equals": None}},
         "com.android.providers.settings"),
    ],
)  # fmt: skip
def test_every_hard_answer_names_the_package_behind_it(
    question: dict[str, object], package: str
) -> None:
    oracle = make_oracle(
        Question.model_validate({"name": "q", **question}), {"home": "com.launcher"}
    )
    assert oracle.depends_on == (package,)
