"""The console says what the emulator's says, to anybody and to anything."""

from __future__ import annotations

import asyncio
import re
import shutil
import stat
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simphone.avd import load_avd
from simphone.console.radio import unescape
from simphone.console.token import ensure_token, read_token
from simphone.programs import dumpsys_device
from tests.booted import ask, booted, console, new_phone, until

HELP = "Android Console: type 'help' for a list of commands\r\n"


async def test_a_stranger_is_asked_for_the_token_and_may_do_little(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("abcdefghijklmnop")
    async with booted(tmp_path) as phone:
        said = await console(
            phone, "ping", "avd name", "avd status", "sms send 1 x", "auth", "auth wrong", "quit"
        )
        assert said == (
            "Android Console: Authentication required\r\n"
            "Android Console: type 'auth <auth_token>' to authenticate\r\n"
            "Android Console: you can find your <auth_token> in \r\n"
            f"'{token}'\r\n"
            "OK\r\n"
            "I am alive!\r\nOK\r\n"
            "x\r\nOK\r\n"
            "allows you to control (e.g. start/stop) the execution of the virtual device\r\n"
            "\r\navailable sub-commands:\r\n"
            "    name             query virtual device name\r\n"
            "    grpc             query the grpc endpoint\r\n"
            "\r\n"
            "KO:  bad sub-command\r\n"
            "KO: unknown command, try 'help'\r\n"
            "KO: missing authentication token\r\n"
            "KO: authentication token does not match ~/.emulator_console_auth_token\r\n"
        )


async def test_the_token_opens_everything(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abcdefghijklmnop")
    async with booted(tmp_path) as phone:
        said = await console(phone, "auth abcdefghijklmnop", "avd status", "quit")
        assert said.endswith(f"OK\r\n{HELP}OK\r\nvirtual device is running\r\nOK\r\n")


async def test_an_empty_token_lets_everybody_in_and_a_lost_one_nobody(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        assert await console(phone, "ping", "quit") == f"{HELP}OK\r\nI am alive!\r\nOK\r\n"
        (tmp_path / "token").unlink()
        assert await console(phone) == ""


def test_a_token_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "token"
    ensure_token(path)
    first = read_token(path)
    assert first is not None
    assert len(first) == 16
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ensure_token(path)
    assert read_token(path) == first
    assert [p.name for p in tmp_path.iterdir()] == ["token"]


async def test_the_avd_tells_about_itself(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        folder = phone.avd.folder
        said = await ask(phone, "avd name", "avd path", "avd snapshotspath")
        assert said == f"x\r\nOK\r\n{folder}\r\nOK\r\n{folder}/snapshots\r\nOK\r\n"
        assert re.fullmatch(r"heartbeat: \d+\r\nOK\r\n", await ask(phone, "avd heartbeat"))


async def test_a_stopped_device_stands_still_and_goes_on(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        assert await ask(phone, "avd start") == "KO: virtual device already running\r\n"
        assert await ask(phone, "avd stop", "avd status") == (
            "OK\r\nvirtual device is stopped\r\nOK\r\n"
        )
        assert await ask(phone, "avd stop") == "KO: virtual device already stopped\r\n"
        assert await ask(phone, "sms send 1 waits") == "OK\r\n"
        assert await ask(phone, "avd start", "avd status") == (
            "OK\r\nvirtual device is running\r\nOK\r\n"
        )
        await until(lambda: bool(phone.world.notifications.all()))


async def test_snapshots_are_saved_listed_loaded_and_deleted(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        assert await ask(phone, "avd snapshot list", "avd snapshot get") == (
            "There is no snapshot available.\r\nOK\r\n(null)\r\nOK\r\n"
        )
        assert await ask(phone, "avd snapshot save clean") == "OK\r\n"
        listed = (await ask(phone, "avd snapshot list")).split("\r\n")
        assert listed[0] == "List of snapshots present on all disks:"
        assert listed[1].split() == ["ID", "TAG", "VM", "SIZE", "DATE", "VM", "CLOCK"]
        assert listed[2].split()[:2] == ["--", "clean"]
        assert listed[3:] == ["OK", ""]
        phone.world.clipboard.text = "gone after the load"
        assert await ask(phone, "avd snapshot load clean", "avd snapshot get") == (
            "OK\r\nclean\r\nOK\r\n"
        )
        assert phone.world.clipboard.text == ""
        assert await ask(phone, "avd snapshot del clean", "avd snapshot list") == (
            "OK\r\nThere is no snapshot available.\r\nOK\r\n"
        )


async def test_a_load_that_cannot_be_says_why_and_the_device_runs_on(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        assert await ask(phone, "avd snapshot load X") == (
            "KO: Device 'cache' does not have the requested snapshot 'X'\r\n"
            "KO: Snapshot load failure: snapshot doesn't exist\r\n"
        )
        await ask(phone, "avd snapshot save X")
        shutil.rmtree(phone.avd.snapshots / "X/disk")
        assert await ask(phone, "avd snapshot load X", "avd status") == (
            "KO: Error -22 from the snapshot callback\r\n"
            "KO: Snapshot load failure: missing snapshot files\r\n"
            "virtual device is running\r\nOK\r\n"
        )
        assert await ask(phone, "avd snapshot load") == (
            "KO: Argument missing, try 'avd snapshot load <name>'\r\n"
        )
        assert await ask(phone, "avd snapshot del Y") == (
            "KO: Snapshot delete failure: snapshot doesn't exist\r\n"
        )


async def test_read_only_changes_no_snapshot(tmp_path: Path) -> None:
    async with booted(tmp_path, "-read-only") as phone:
        for verb, word in (("save", "save"), ("load", "load"), ("del", "delete")):
            assert await ask(phone, f"avd snapshot {verb} x") == (
                f'KO: Snapshot {word} is disabled because "-read-only" was specified\r\n'
            )


async def test_messages_and_calls_reach_the_phone(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        assert await ask(phone, "sms send +15550100 two\\nlines") == "OK\r\n"
        await until(lambda: bool(phone.world.notifications.all()))
        assert phone.world.notifications.all()[0].text == "two\nlines"
        assert await ask(phone, "gsm list", "gsm call 5550123", "gsm list") == (
            "OK\r\nOK\r\ninbound from 5550123    : incoming\r\nOK\r\n"
        )
        assert await ask(phone, "gsm accept 1") == "KO: no current call to/from number '1'\r\n"
        assert await ask(phone, "gsm accept 5550123", "gsm list") == (
            "OK\r\ninbound from 5550123    : active\r\nOK\r\n"
        )
        assert await ask(phone, "gsm cancel 5550123", "gsm list") == "OK\r\nOK\r\n"
        assert await ask(phone, "gsm cancel 5550123") == "KO: could not cancel this number\r\n"


LAST_LINES = [
    ("", "KO: unknown command, try 'help'"),
    ("avd", "KO: missing sub-command"),
    ("avd nothing", "KO:  bad sub-command"),
    ("avd snapshot", "KO: missing sub-command"),
    ("sms send", "KO: missing argument, try 'sms send <phonenumber> <text message>'"),
    ("sms send 12ab x", "KO: bad phone number format, must be [+](0-9)*"),
    ("sms send 12 \\q", "KO: badly formatted text"),
    ("gsm call", "KO: missing argument, try 'gsm call <phonenumber>'"),
    ("gsm call abc", "KO: bad phone number format, use digits, # and + only"),
    ("geo fix 1", "KO: not enough arguments: see 'help geo fix' for details"),
    ("geo fix 181 0", "KO: invalid longitude value. Should be in [-180,+180] range"),
    ("geo fix x y", "KO: argument 'x' is not a number"),
    ("geo fix 8.5 47.3", "OK"),
    ("power capacity 101", 'KO: Usage: "capacity <percentage>"'),
    ("help nothing", "KO: unknown command"),
    ("help avd snapshot", "OK"),
    ("help-verbose", "OK"),
    ("network status", "OK"),
    ("gsm status", "OK"),
    ("power display", "OK"),
    ("GET / HTTP/1.1", "KO: Forbidden HTTP request. Aborting"),
]


async def test_the_battery_that_the_console_sets_is_the_phones(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        await ask(phone, "power capacity 20", "power ac off")
        said = dumpsys_device.battery(phone.world, [])
        assert "  level: 20\n" in said
        assert "  status: 3\n" in said
        assert "  AC powered: false\n" in said
        assert "capacity: 20\r\n" in await ask(phone, "power display")


async def test_each_line_ends_in_ok_or_says_what_is_wrong(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        for line, last in LAST_LINES:
            assert (await ask(phone, line)).rstrip("\r\n").split("\r\n")[-1] == last


async def test_kill_says_goodbye_and_ends_the_emulator(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        assert await ask(phone, "kill") == "OK: killing emulator, bye bye\r\nOK\r\n"
        assert await phone.exited == 0


async def test_a_line_without_an_end_is_cut_off(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        reader, writer = await asyncio.open_connection("127.0.0.1", phone.options.console_port)
        writer.write(b"a" * (10 << 20))
        said = b""
        try:
            while data := await reader.read(65536):
                said += data
        except ConnectionResetError:
            pass  # the phone hung up on what was still on its way
        writer.close()
        assert said.decode() in (f"{HELP}OK\r\n", f"{HELP}OK\r\nKO: line too long, bye bye\r\n")
        assert await ask(phone, "ping") == "I am alive!\r\nOK\r\n"


async def test_many_connections_are_served_at_once(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        replies = await asyncio.gather(*(ask(phone, "ping") for _ in range(50)))
        assert set(replies) == {"I am alive!\r\nOK\r\n"}


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(garbage=st.lists(st.binary(max_size=200), max_size=5))
def test_garbage_never_harms_the_console(tmp_path: Path, garbage: list[bytes]) -> None:
    home = tmp_path / "avd"
    avd = load_avd("x", {"ANDROID_AVD_HOME": str(home)}) if home.exists() else None

    async def play() -> None:
        phone = new_phone(tmp_path, avd=avd)
        await phone.listen()
        await console(phone, *garbage)
        assert await ask(phone, "ping") == "I am alive!\r\nOK\r\n"
        await phone.stop()

    # One loop per example: Hypothesis drives plain functions.
    asyncio.run(play())


@given(st.text())
def test_any_text_is_unescaped_or_refused(text: str) -> None:
    try:
        unescape(text).encode()
    except ValueError:
        assert "\\" in text or any("\ud800" <= c <= "\udfff" for c in text)


def test_escapes_mean_what_the_console_says() -> None:
    assert unescape("a\\nb\\\\c\\x41\\u20ac") == "a\nb\\cA€"
