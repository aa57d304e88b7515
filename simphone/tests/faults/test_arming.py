"""The console arms faults for whoever may, and an unarmed phone answers as it always did."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simphone.avd import load_avd
from simphone.faults.order import BEFORE_CONSOLE
from simphone.faults.table import FAULTS
from simphone.phone import Phone
from simphone.shell.interpreter import run_script
from simphone.streams import Collected, Fixed
from tests.booted import ask, booted, console, is_up, new_phone, until

UNKNOWN = "KO: unknown command, try 'help'\r\n"
LATE = [name for name, one in FAULTS.items() if one.points[0] not in BEFORE_CONSOLE]


async def test_a_phone_without_the_option_knows_no_such_command(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        for line in ("sim-fault", "sim-fault list", "sim-fault arm anr"):
            assert await ask(phone, line) == UNKNOWN
        assert "sim-fault" not in await ask(phone, "help", "help-verbose")
        assert phone.world.faults.armed() == ()


async def test_nobody_arms_before_the_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abcdefghijklmnop")
    async with booted(tmp_path, "-sim-faults") as phone:
        assert (await console(phone, "sim-fault arm anr", "quit")).endswith(UNKNOWN)
        assert "sim-fault" not in await console(phone, "help", "quit")
        assert phone.world.faults.armed() == ()
        said = await console(phone, "auth abcdefghijklmnop", "sim-fault arm anr", "quit")
        assert said.endswith("'help' for a list of commands\r\nOK\r\nOK\r\n")
        assert [str(one.order) for one in phone.world.faults.armed()] == [
            "anr at=shell after=0 times=1"
        ]


async def test_the_console_helps_lists_and_clears(tmp_path: Path) -> None:
    async with booted(tmp_path, "-sim-faults") as phone:
        assert "    sim-fault\r\n" in await ask(phone, "help")
        assert "arm a fault: CLASS [at=POINT] [after=N]" in await ask(phone, "help sim-fault")
        listed = (await ask(phone, "sim-fault classes")).splitlines()
        assert [line.split("  ")[0] for line in listed] == [*FAULTS, "OK"]
        assert await ask(phone, "sim-fault list") == "There is no fault armed.\r\nOK\r\n"
        assert await ask(phone, "sim-fault arm console-ko after=1", "ping", "ping", "ping") == (
            "OK\r\nI am alive!\r\nOK\r\nKO: internal error\r\nI am alive!\r\nOK\r\n"
        )
        row = "console-ko at=console.command after=1 times=1 armed=no passages=3 happened=1\r\n"
        assert await ask(phone, "sim-fault list") == f"{row}OK\r\n"
        assert await ask(phone, "sim-fault clear", "sim-fault list") == (
            "OK\r\nThere is no fault armed.\r\nOK\r\n"
        )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("arm", "KO: a fault's class is missing"),
        ("arm nope", "KO: there is no fault 'nope', only: "),
        ("arm anr after=x", "KO: after must be a number from 0 to 1000000, not 'x'"),
        ("arm start-lock", "KO: start-lock happens before there is a console, start with -sim-f"),
        ("arm snapshot-cold-boot", "KO: snapshot-cold-boot happens before there is a console"),
    ],
)
async def test_what_cannot_be_armed_is_refused_in_one_line(
    tmp_path: Path, line: str, said: str
) -> None:
    async with booted(tmp_path, "-sim-faults") as phone:
        answer = await ask(phone, f"sim-fault {line}")
        assert answer.startswith(said)
        assert answer.count("\n") == 1
        assert phone.world.faults.armed() == ()


async def test_faults_of_the_console_spare_whoever_arms_them(tmp_path: Path) -> None:
    async with booted(tmp_path, "-sim-faults") as phone:
        await ask(
            phone, "sim-fault arm console-silent times=always", "sim-fault arm console-ko-as-ok"
        )
        assert await ask(phone, "ping", "sim-fault arm nope") == (
            "KO: there is no fault 'nope', only: " + ", ".join(FAULTS) + "\r\n"
        )
        assert await ask(phone, "auth", "sim-fault clear", "ping") == (
            "KO: missing authentication token\r\nOK\r\nI am alive!\r\nOK\r\n"
        )


async def test_a_refusal_can_be_told_as_ok(tmp_path: Path) -> None:
    async with booted(tmp_path, "-sim-fault", "console-ko-as-ok,after=1,times=1") as phone:
        refused = "KO: Snapshot delete failure: snapshot doesn't exist\r\n"
        line = "avd snapshot del nothing"
        assert await ask(phone, line, "ping", line, line) == (
            f"{refused}I am alive!\r\nOK\r\nOK\r\n{refused}"
        )


async def test_a_refused_command_is_not_carried_out(tmp_path: Path) -> None:
    async with booted(tmp_path, "-sim-faults") as phone:
        await ask(phone, "avd snapshot save a", "sim-fault arm console-ko times=3")
        phone.world.clipboard.text = "still there"
        assert await ask(phone, "avd snapshot load a", "kill", "avd stop") == (
            "KO: Error -22 while loading VM state\r\n" + "KO: internal error\r\n" * 2
        )
        assert phone.world.clipboard.text == "still there"
        assert phone.running
        assert await ask(phone, "avd snapshot load a") == "OK\r\n"
        assert phone.world.clipboard.text == ""


async def test_what_is_armed_outlives_a_load_and_a_reboot(tmp_path: Path) -> None:
    async with booted(tmp_path, "-sim-faults") as phone:
        await ask(phone, "avd snapshot save a", "sim-fault arm anr at=snapshot.loaded after=1")
        assert await ask(phone, "avd snapshot load a") == "OK\r\n"
        assert phone.world.windows.not_responding == ""
        before = phone.world.boot_id
        phone.reboot()
        await until(lambda: phone.world.boot_id != before and is_up(phone))
        assert await ask(phone, "avd snapshot load a") == "OK\r\n"
        assert phone.world.windows.not_responding == "com.android.systemui"


async def sh(phone: Phone, script: str) -> tuple[int, bytes, bytes]:
    out, err = Collected(), Collected()
    code = await run_script(phone.world, script, stdin=Fixed(), stdout=out, stderr=err)
    return code, bytes(out.data), bytes(err.data)


QUESTIONS = (
    "getprop", "settings get global adb_enabled", "settings get global nothing", "service list",
    "service check input", "pm path android", "cmd package list packages", "dumpsys window",
    "uiautomator dump /dev/tty", "screencap -p | sha256sum", "screencap | sha256sum", "wm size",
    "content query --uri content://com.android.calendar/calendars", "nonsense", "exit 3",
    "echo x > /sdcard/f && cat /sdcard/f", "cat /proc/sys/kernel/random/boot_id",
)  # fmt: skip


async def answers(phone: Phone) -> list[tuple[object, ...]]:
    said: list[tuple[object, ...]] = [await sh(phone, script) for script in QUESTIONS]
    lines = ("ping", "avd name", "avd snapshot list", "avd snapshot load none", "nothing")
    return [*said, (await ask(phone, *lines),)]


WAITING = st.lists(st.tuples(st.sampled_from(LATE), st.integers(900, 10_000)), max_size=8)


@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rounds=st.lists(st.tuples(WAITING, st.booleans()), max_size=3))
def test_a_phone_at_which_no_fault_is_due_answers_as_one_without_any(
    tmp_path: Path, rounds: list[tuple[list[tuple[str, int]], bool]]
) -> None:
    """Whatever is armed for later, or was armed and cleared."""
    home = tmp_path / "avd"
    avd = load_avd("x", {"ANDROID_AVD_HOME": str(home)}) if home.exists() else None

    async def play() -> None:
        phone = new_phone(tmp_path, "-sim-faults", avd=avd)
        await phone.listen()
        phone.power_on()
        await until(lambda: is_up(phone))
        await answers(phone)  # the first ones start what was not running yet
        before = await answers(phone)
        for armed, cleared in rounds:
            for name, after in armed:
                assert await ask(phone, f"sim-fault arm {name} after={after}") == "OK\r\n"
            if cleared:
                assert await ask(phone, "sim-fault clear") == "OK\r\n"
            assert await answers(phone) == before
        await phone.stop()

    asyncio.run(play())
