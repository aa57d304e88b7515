"""How expectations are checked and recorded."""

from __future__ import annotations

import json
from pathlib import Path

from orchestrator.device.check import CheckFinding, passed, run_check
from orchestrator.device.expectations import EXPECTATIONS, Expectation
from orchestrator.device.expectations.expectation import CheckResult, equal
from orchestrator.device.phone import Device
from tests.device.fakes import SERIAL, FakeAdb, answer, fail


def expectation(name: str, command: str, **kinds: bool) -> Expectation:
    """That a command says `yes`."""
    return Expectation(
        name,
        "a test",
        "'yes'",
        lambda device: equal(device.adb_socket.shell(command).stdout, b"yes"),
        **kinds,
    )


def test_names_are_unique_and_everything_is_said() -> None:
    names = [each.name for each in EXPECTATIONS]
    assert len(names) == len(set(names))
    assert all(each.why and each.expected for each in EXPECTATIONS)
    assert len(EXPECTATIONS) >= 50


def test_one_failure_does_not_hide_the_next(adb: FakeAdb, device: Device) -> None:
    adb.shell("a", answer("no"))
    adb.shell("b", fail("device offline"))
    adb.shell("c", answer("yes"))
    looks = [expectation(name, name) for name in "abc"]

    def broken(_: Device) -> CheckResult:
        raise KeyError("our own bug")

    looks.append(Expectation("d", "a test", "'yes'", broken))
    findings = run_check(device, expectations=looks)
    assert [finding.holds for finding in findings] == [False, False, True, False]
    assert "device offline" in findings[1].seen
    assert "KeyError" in findings[3].seen
    assert not passed(findings)


def test_what_changes_the_phone_is_only_done_when_asked(adb: FakeAdb, device: Device) -> None:
    adb.shell("a", answer("yes"))
    looks = [expectation("a", "a", destructive=True)]
    assert run_check(device, expectations=looks) == []
    assert not adb.asked
    assert passed(run_check(device, destructive=True, expectations=looks))


def test_a_phone_without_a_console_is_not_failed_for_it(adb: FakeAdb) -> None:
    bare = Device(SERIAL, adb.port)
    [finding] = run_check(bare, expectations=[expectation("a", "a", needs_console=True)])
    assert finding.holds is None


def test_nothing_looked_at_is_no_pass() -> None:
    assert not passed([])
    assert not passed([CheckFinding("a", "b", "c", "d", None, 0.0)])


def test_every_exchange_is_recorded(adb: FakeAdb, device: Device, tmp_path: Path) -> None:
    adb.shell("a", answer("yes", "warned\n", 3))
    adb.shell("b", answer(b"\xff\xfe", code=None))
    run_check(device, folder=tmp_path, expectations=[expectation(name, name) for name in "ab"])
    first, second = map(json.loads, (tmp_path / "recordings.jsonl").read_text().splitlines())
    assert (first["expectation"], first["command"], first["exit"]) == ("a", "a", 3)
    assert (first["stdout"], first["stderr"], first["fault"]) == ("yes", "warned\n", None)
    assert "shell truncated" in second["fault"]
    assert (tmp_path / second["stdout"]["file"]).read_bytes() == b"\xff\xfe"
    findings = json.loads((tmp_path / "findings.json").read_text())
    assert [finding["holds"] for finding in findings] == [True, False]
    assert device.adb_socket.listener is None
