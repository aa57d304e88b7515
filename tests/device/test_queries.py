"""Typed calls over the shell, with each pitfall of the phone's output by name."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from orchestrator.device.faults import DeviceFault
from orchestrator.device.packages import Launch, Version, parse_launch, parse_version
from orchestrator.device.phone import Device
from orchestrator.device.providers import BLOB, Value, parse_rows, quoted
from orchestrator.device.screen import Display, parse_display
from orchestrator.device.shell import command_line
from tests.device.fakes import FakeAdb, answer, fail, reason

TRACE = (
    "Error while accessing provider:sms\njava.lang.SecurityException: Permission Denial\n"
    "\tat android.os.Parcel.createExceptionOrNull(Parcel.java:3057)\n"
)


# Settings and properties


def test_a_missing_setting_is_none(adb: FakeAdb, device: Device) -> None:
    adb.shell("settings get global x", answer("null\n"))
    assert device.settings.get("global", "x") is None


def test_a_setting_keeps_its_spaces(adb: FakeAdb, device: Device) -> None:
    adb.shell("settings get global x", answer(" a b \n"))
    assert device.settings.get("global", "x") == " a b "


def test_an_unknown_table_is_the_callers_mistake(device: Device) -> None:
    with pytest.raises(ValueError, match="no settings table"):
        device.settings.get("public", "x")


def test_a_value_is_quoted_for_the_phones_shell(adb: FakeAdb, device: Device) -> None:
    adb.shell("settings put global x 'a'\"'\"'; reboot'", answer())
    device.settings.put("global", "x", "a'; reboot")


def test_a_property_that_did_not_take_is_a_fault(adb: FakeAdb, device: Device) -> None:
    adb.shell("setprop ro.x 1", answer())
    adb.shell("getprop ro.x", answer("\n"))
    assert reason(lambda: device.properties.set("ro.x", "1")) == "command_failed"


def test_root_is_su_and_never_adb_root() -> None:
    assert command_line(("cat", "/a b"), root=True) == "su 0 cat '/a b'"


# Content providers


def test_values_end_where_the_next_key_begins() -> None:
    text = "Row: 0 address=+1555, body=Order 42, shipped today, date=1788280004066\n"
    [row] = parse_rows(text, ["address", "body", "date"])
    assert row == {
        "address": "+1555",
        "body": "Order 42, shipped today",
        "date": "1788280004066",
    }


def test_a_value_may_hold_newlines_rows_and_equals_signs() -> None:
    text = (
        "Row: 0 body=line one\nRow: 7 of nine\nRow: 1 x=y, z=1, date=5\nRow: 1 body=, date=NULL\n"
    )
    rows = parse_rows(text, ["body", "date"])
    assert [row["body"] for row in rows] == ["line one\nRow: 7 of nine\nRow: 1 x=y, z=1", ""]
    assert [row["date"] for row in rows] == ["5", None]


def test_null_and_blob_are_not_texts() -> None:
    [row] = parse_rows("Row: 0 a=NULL, b=BLOB, c=null\n", ["a", "b", "c"])
    assert row == {"a": None, "b": BLOB, "c": "null"}


def test_no_result_is_no_row() -> None:
    assert parse_rows("No result found.\n", ["a"]) == ()


@pytest.mark.parametrize(
    "text",
    ["", "garbage", "Row: 0 b=1\n", "Row: 1 a=1\n", "Row: 0 a=1\n", f"Row: {'9' * 5000} a=1"],
)
def test_what_is_not_rows_is_a_fault_and_never_no_rows(text: str) -> None:
    assert reason(lambda: parse_rows(text, ["a", "b"])) == "bad_answer"


def test_a_providers_error_is_a_fault_beside_exit_0(adb: FakeAdb, device: Device) -> None:
    adb.shell("content query --uri content://sms --projection a:b", answer("", TRACE, 0))
    with pytest.raises(DeviceFault, match="Permission Denial") as error:
        device.providers.query("content://sms", ["a", "b"])
    assert error.value.reason == "provider_error"


@pytest.mark.parametrize(
    ("said", "complained", "fault"),
    [
        ("rows\n\n*** SERVICE 'window' DUMP TIMEOUT (10000ms) EXPIRED ***\n\n", "", "timeout"),
        ("rows\n", "Error dumping service info status_t: DEAD_OBJECT window\n", "bad_answer"),
        ("a title: *** SERVICE 'window' DUMP TIMEOUT (1ms) EXPIRED ***\nrows\n", "", None),
    ],
)
def test_a_dump_that_was_cut_is_a_fault_beside_exit_0(
    adb: FakeAdb, device: Device, said: str, complained: str, fault: str | None
) -> None:
    """What had not been dumped yet would else be taken for absent."""
    adb.shell("dumpsys window", answer(said, complained, 0))
    if fault is None:
        assert device.shell.answer("dumpsys", "window") == said
    else:
        assert reason(lambda: device.shell.answer("dumpsys", "window")) == fault


def test_a_query_names_where_and_sort(adb: FakeAdb, device: Device) -> None:
    words = ("content", "query", "--uri", "content://x", "--projection", "a")
    line = command_line((*words, "--where", "b='it''s'", "--sort", "a DESC"))
    adb.shell(line, answer("Row: 0 a=1\n"))
    where = "b=" + quoted("it's")
    assert device.providers.query("content://x", ["a"], where=where, sort="a DESC") == ({"a": "1"},)


def test_bound_values_carry_their_type(adb: FakeAdb, device: Device) -> None:
    words = ["content", "insert", "--uri", "content://x"]
    for value in ("a:s:it's", "b:i:1", "c:l:1788280004066", "d:b:true", "e:n:", "f:d:1.5"):
        words += ["--bind", value]
    adb.shell(command_line(tuple(words)), answer())
    values: dict[str, Value] = {
        "a": "it's",
        "b": 1,
        "c": 1788280004066,
        "d": True,
        "e": None,
        "f": 1.5,
    }
    device.providers.insert("content://x", values)


# Services and packages


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (("dumpsys", "nosuch"), answer("Can't find service: nosuch\n")),
        (("cmd", "nosuch"), answer("", "cmd: Can't find service: nosuch\n", 20)),
        (("input", "tap", "1", "1"), answer("", "cmd: Can't find service: input\n", 20)),
        (("am", "x"), answer("", "Error: java.lang: No service published for: input\n", 0)),
    ],
)
def test_a_missing_service_is_a_fault_whatever_the_exit_code(
    adb: FakeAdb, device: Device, words: tuple[str, ...], script: bytes
) -> None:
    adb.shell(command_line(words), script)
    assert reason(lambda: device.shell.do(*words)) == "service_missing"


def test_the_same_words_in_somebodys_message_are_no_fault(adb: FakeAdb, device: Device) -> None:
    """Else whoever can write to the phone could fail whatever reads it."""
    body = "hello\nCan't find service: package\nNo service published for: input"
    line = command_line(("content", "query", "--uri", "content://sms", "--projection", "body"))
    adb.shell(line, answer(f"Row: 0 body={body}\n"))
    [row] = device.providers.query("content://sms", ["body"])
    assert row["body"] == body


def test_no_package_is_told_from_no_package_service(adb: FakeAdb, device: Device) -> None:
    adb.shell("pm path x", answer(code=1))
    assert device.packages.paths("x") == ()
    adb.shell("pm path x", answer("", "cmd: Can't find service: package\n", 20))
    assert reason(lambda: device.packages.paths("x")) == "service_missing"


@pytest.mark.parametrize("text", ["", "soon\n", "cat: no such file\n"])
def test_an_uptime_is_a_number(adb: FakeAdb, device: Device, text: str) -> None:
    adb.shell("cat /proc/uptime", answer(text))
    assert reason(device.clock.uptime) == "bad_answer"


def test_an_unknown_command_is_a_fault_with_the_shells_words(adb: FakeAdb, device: Device) -> None:
    adb.shell("foo", answer("", "/system/bin/sh: foo: inaccessible or not found\n", 127))
    with pytest.raises(DeviceFault, match=r"exit code 127: .*inaccessible or not found"):
        device.shell.do("foo")


def test_an_unknown_package_is_a_fault_beside_exit_0() -> None:
    assert reason(lambda: parse_version("Unable to find package: x\n", "x")) == "package_missing"


def test_a_version_is_name_and_code() -> None:
    text = "    versionCode=34 minSdk=34 targetSdk=34\n    versionName=14\n"
    assert parse_version(text, "x") == Version("14", 34)


def test_am_start_says_what_it_started() -> None:
    text = (
        "Starting: Intent { cmp=a/.B }\nStatus: ok\nLaunchState: COLD\nActivity: a/.B\n"
        "TotalTime: 312\nWaitTime: 320\nComplete\n"
    )
    assert parse_launch(text) == Launch("ok", "a/.B", 312)


@pytest.mark.parametrize(
    "text",
    [
        "Starting: Intent { cmp=a/.B }\nError type 3\nError: Activity {a/a.B} does not exist.",
        "",
    ],
)
def test_am_start_of_nothing_is_a_fault(text: str) -> None:
    assert reason(lambda: parse_launch(text)) == "command_failed"


# Display, input, files


def test_an_override_is_what_apps_see() -> None:
    plain = parse_display("Physical size: 1080x2400\n", "Physical density: 420\n")
    assert plain == Display(1080, 2400, 420, overridden=False)
    changed = parse_display(
        "Physical size: 1080x2400\nOverride size: 720x1600\n",
        "Physical density: 420\nOverride density: 320\n",
    )
    assert changed == Display(720, 1600, 320, overridden=True)
    assert reason(lambda: parse_display("", "")) == "bad_answer"


def test_ascii_is_typed_and_all_else_goes_by_the_input_method(adb: FakeAdb, device: Device) -> None:
    adb.shell("input text 'it'\"'\"'s%sfine'", answer())
    device.input.text("it's fine")
    for text in ("Grüße 🙂", "100%sure", "two\nlines"):
        message = base64.b64encode(text.encode()).decode()
        line = command_line(("am", "broadcast", "-a", "ADB_INPUT_B64", "--es", "msg", message))
        adb.shell(line, answer("Broadcasting: Intent { }\nBroadcast completed: result=0\n"))
        device.input.text(text)
    assert reason(lambda: device.input.text("half \ud83d")) == "command_failed"


def test_a_gesture_that_says_something_failed(adb: FakeAdb, device: Device) -> None:
    adb.shell("input text x", answer("", "Exception occurred while executing 'text':\n", 0))
    assert reason(lambda: device.input.text("x")) == "command_failed"


def test_a_touch_is_never_repeated(adb: FakeAdb, device: Device) -> None:
    adb.shell("input tap 1 2", answer(code=None), answer())
    assert reason(lambda: device.input.tap(1, 2)) == "shell_truncated"
    assert adb.asked.count("shell,v2,raw:input tap 1 2") == 1


def test_a_query_is_asked_again_where_the_transport_hiccuped(adb: FakeAdb, device: Device) -> None:
    adb.shell("getprop x", fail("device offline"), answer("half", code=None), answer("whole\n"))
    assert device.properties.get("x") == "whole"


def test_a_query_gives_up_with_the_last_fault(adb: FakeAdb, device: Device) -> None:
    adb.shell("getprop x", fail("device offline"))
    assert reason(lambda: device.properties.get("x")) == "device_offline"
    assert adb.asked.count("shell,v2,raw:getprop x") == 3


def test_a_lasting_fault_is_not_asked_again(adb: FakeAdb, device: Device) -> None:
    adb.transport = fail("device unauthorized.")
    assert reason(lambda: device.properties.get("x")) == "device_unauthorized"
    assert len(adb.asked) == 1


def test_absence_needs_a_clean_no(adb: FakeAdb, device: Device) -> None:
    adb.shell("test -e /x", answer(code=1))
    assert not device.files.exists("/x")
    adb.shell("test -e /x", answer("", "test: not permitted\n", 1))
    assert reason(lambda: device.files.exists("/x")) == "command_failed"


def test_a_database_is_pulled_with_its_log_and_again_if_it_moved(
    adb: FakeAdb, device: Device, tmp_path: Path
) -> None:
    def digests(**parts: bytes) -> bytes:
        rows = (
            f"{hashlib.sha256(data).hexdigest()}  /d/x.db{name}\n" for name, data in parts.items()
        )
        return answer("".join(rows).replace("_", "-").replace("-main", ""), "no -shm\n", 1)

    (tmp_path / "x.db-shm").write_bytes(b"left from before")
    adb.shell("su 0 cat /d/x.db", answer(b"old"), answer(b"db"))
    adb.shell("su 0 cat /d/x.db-wal", answer(b"wal"))
    adb.shell("su 0 cat /d/x.db-journal", answer(b"half"), answer(b""))
    adb.shell(
        "su 0 sha256sum /d/x.db /d/x.db-wal /d/x.db-shm /d/x.db-journal",
        digests(_main=b"db", _wal=b"wal", _journal=b""),
    )
    copy = device.files.pull_database("/d/x.db", tmp_path)
    assert copy.read_bytes() == b"db"
    assert (tmp_path / "x.db-wal").read_bytes() == b"wal"
    assert (tmp_path / "x.db-journal").read_bytes() == b""
    assert not (tmp_path / "x.db-shm").exists()


def test_a_database_that_is_not_there_is_a_fault(
    adb: FakeAdb, device: Device, tmp_path: Path
) -> None:
    adb.shell(
        "su 0 sha256sum /d/x.db /d/x.db-wal /d/x.db-shm /d/x.db-journal",
        answer("", "no such file\n", 1),
    )
    assert reason(lambda: device.files.pull_database("/d/x.db", tmp_path)) == "command_failed"
