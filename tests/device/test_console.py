"""The console's replies are read in whatever pieces they arrive."""

from __future__ import annotations

import pytest

from orchestrator.device.adb_socket import Exchange
from orchestrator.device.console import Console, SnapshotRow, check_tag, parse_snapshots
from orchestrator.device.faults import DeviceFault
from tests.device.fakes import FakeConsole

LIST = (
    "List of snapshots present on all disks:\n"
    "ID        TAG                 VM SIZE                DATE       VM CLOCK\n"
    "--        clean                  138M 2026-08-22 14:25:48   04:33:18.874\n"
    "--        a-tag-longer-than-its-column   138M 2026-08-22 14:25:48   04:33:18.874\n"
)
MISSING = b"KO: Device 'cache' does not have the requested snapshot 'x'\r\n"
FAILURE = b"KO: Snapshot load failure: snapshot doesn't exist\r\n"


def test_a_command_is_authenticated_first(fake_console: FakeConsole, console: Console) -> None:
    fake_console.replies["avd name"] = [b"phone\r\nOK\r\n"]
    assert console.avd_name() == "phone"
    assert fake_console.asked == [f"auth {fake_console.token}", "avd name"]


def test_a_console_without_authentication_is_not_given_the_token(
    fake_console: FakeConsole, console: Console
) -> None:
    fake_console.greeting = [b"Android Console: type 'help' for a list of commands\r\nOK\r\n"]
    console.ask("ping")
    assert fake_console.asked == ["ping"]


def test_a_wrong_token_is_refused_in_the_consoles_words(fake_console: FakeConsole) -> None:
    with pytest.raises(DeviceFault, match="authentication token does not match") as error:
        Console(fake_console.port, "wrong").avd_name()
    assert error.value.reason == "console_refused"


def test_replies_in_pieces_are_put_together(fake_console: FakeConsole, console: Console) -> None:
    fake_console.replies["avd path"] = [b"/a/pa", b"th\r\nO", b"K\r", b"\n"]
    assert console.ask("avd path") == "/a/path"


def test_a_value_that_begins_like_ok_is_a_value(
    fake_console: FakeConsole, console: Console
) -> None:
    fake_console.replies["avd name"] = [b"OKAPI\r\nOK\r\n"]
    assert console.avd_name() == "OKAPI"


@pytest.mark.parametrize("writes", [[MISSING + FAILURE], [MISSING, FAILURE]])
def test_a_refusal_of_several_lines_is_kept_whole(
    fake_console: FakeConsole, console: Console, writes: list[bytes]
) -> None:
    fake_console.replies["avd snapshot load x"] = writes
    with pytest.raises(DeviceFault) as error:
        console.load_snapshot("x")
    assert error.value.reason == "snapshot_failed"
    assert error.value.text.splitlines() == [
        "KO: Device 'cache' does not have the requested snapshot 'x'",
        "KO: Snapshot load failure: snapshot doesn't exist",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "KO: missing sub-command",
        "KO:  bad sub-command",
        "KO: unknown command, try 'help'",
        'KO: Snapshot load is disabled because "-read-only" was specified',
        "KO: Error -22 while loading VM state",
    ],
)
def test_every_ko_is_a_fault(fake_console: FakeConsole, console: Console, text: str) -> None:
    fake_console.replies["avd status"] = [f"{text}\r\n".encode()]
    with pytest.raises(DeviceFault) as error:
        console.avd_status()
    assert error.value.reason == "console_refused"
    assert error.value.text == text


def test_the_words_are_kept_as_they_were(fake_console: FakeConsole, console: Console) -> None:
    heard: list[Exchange] = []
    console.listener = heard.append
    fake_console.replies["avd snapshot load x"] = [b"OK\r\n"]
    assert console.load_snapshot("x") == "OK"
    fake_console.replies["avd name"] = [b"phone\r\nOK\r\n"]
    assert console.send("avd name").text == "phone\nOK"
    fake_console.replies["avd snapshot load x"] = [MISSING + FAILURE]
    with pytest.raises(DeviceFault):
        console.load_snapshot("x")
    refusal = (MISSING + FAILURE).replace(b"\r\n", b"\n").strip()
    assert [exchange.stdout for exchange in heard] == [b"OK", b"phone\nOK", refusal]


def test_a_console_that_closes_is_a_fault(fake_console: FakeConsole, console: Console) -> None:
    fake_console.replies["kill"] = [b""]
    with pytest.raises(DeviceFault) as error:
        console.kill()
    assert error.value.reason == "console_closed"
    fake_console.replies["kill"] = [b"OK: killing emulator, bye bye\r\n"]
    assert console.ask("kill") == "killing emulator, bye bye"


def test_a_console_that_is_not_there_is_a_fault() -> None:
    with FakeConsole() as ended:
        port = ended.port
    with pytest.raises(DeviceFault) as error:
        Console(port, "token").ask("ping")
    assert error.value.reason == "console_unreachable"


def test_a_silent_console_is_a_timeout(fake_console: FakeConsole, console: Console) -> None:
    fake_console.replies["ping"] = [b"I am al"]
    with pytest.raises(DeviceFault) as error:
        console.ask("ping", timeout=0.05)
    assert error.value.reason == "timeout"


def test_snapshots_are_read_from_the_right() -> None:
    assert parse_snapshots(LIST) == (
        SnapshotRow("clean", "138M", "2026-08-22 14:25:48", "04:33:18.874"),
        SnapshotRow("a-tag-longer-than-its-column", "138M", "2026-08-22 14:25:48", "04:33:18.874"),
    )
    assert parse_snapshots("There is no snapshot available.") == ()
    for text in ("something else", ""):
        with pytest.raises(DeviceFault):
            parse_snapshots(text)


def test_the_loaded_snapshot_may_be_none(fake_console: FakeConsole, console: Console) -> None:
    fake_console.replies["avd snapshot get"] = [b"(null)\r\nOK\r\n"]
    assert console.loaded_snapshot() is None
    fake_console.replies["avd snapshot get"] = [b"clean\r\nOK\r\n"]
    assert console.loaded_snapshot() == "clean"


@pytest.mark.parametrize("tag", ["", "two words", "-dash", "a;b", "a\nkill", "../up", "é"])
def test_a_tag_is_one_plain_word(console: Console, fake_console: FakeConsole, tag: str) -> None:
    with pytest.raises(DeviceFault):
        console.load_snapshot(tag)
    assert fake_console.asked == []


def test_plain_tags_pass() -> None:
    assert check_tag("clean-1.2_x") == "clean-1.2_x"


def test_a_message_cannot_smuggle_a_second_command(
    console: Console, fake_console: FakeConsole
) -> None:
    fake_console.replies["sms send 555 one\\nkill \\\\ two"] = [b"OK\r\n"]
    console.send_sms("555", "one\nkill \\ two")
    assert fake_console.asked[-1] == "sms send 555 one\\nkill \\\\ two"
    with pytest.raises(DeviceFault):
        console.send_sms("555 x", "text")
    for command in ("ping\nkill", "sms send 555 \ud800"):
        with pytest.raises(DeviceFault):
            console.ask(command)
