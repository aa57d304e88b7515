"""USB debugging: adbd runs exactly while the setting says so; the console does not care."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from simphone.phone import Phone
from simphone.shell.interpreter import run_script
from simphone.streams import Collected, Fixed
from tests.adbd.stand_in import raw_host
from tests.apps.person import Person
from tests.booted import ask, booted, is_up, new_phone, until

QUIET_S, PATIENCE_S = 0.2, 60.0


async def answers(phone: Phone, within_s: float = PATIENCE_S) -> bool:
    """Whether a host that introduces itself hears anything."""
    async with raw_host(phone.adbd.port) as host:
        try:
            async with asyncio.timeout(within_s):
                await host.introduce()
        except TimeoutError:
            return False
    return True


async def is_silent(phone: Phone) -> bool:
    return not await answers(phone, QUIET_S)


async def sh(phone: Phone, script: str) -> str:
    out = Collected()
    await run_script(phone.world, script, stdin=Fixed(), stdout=out, stderr=out)
    return out.data.decode()


def runs(phone: Phone) -> bool:
    return phone.world.processes.find("adbd") is not None


async def test_a_person_switches_it_off_and_on_in_the_developer_options(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        person = Person(phone.world)
        person.open("Settings")
        person.scroll_to("System")
        person.tap("System")
        person.tap("Developer options")
        assert await answers(phone)
        async with raw_host(phone.adbd.port) as host:
            await host.introduce()
            person.tap("USB debugging")
            assert await asyncio.wait_for(host.hung_up_on(), 60) == b""
        assert await is_silent(phone)
        assert not runs(phone)
        assert await sh(phone, "getprop init.svc.adbd; settings get global adb_enabled") == (
            "stopped\n0\n"
        )
        assert await ask(phone, "ping") == "I am alive!\r\nOK\r\n"
        person.tap("USB debugging")
        await until(lambda: phone.adbd.enabled)
        assert await answers(phone)
        assert await sh(phone, "getprop init.svc.adbd") == "running\n"


async def test_developer_options_take_it_with_them(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        await sh(phone, "am start -a android.settings.APPLICATION_DEVELOPMENT_SETTINGS")
        person = Person(phone.world)
        person.tap("Use developer options")
        await until(lambda: not phone.adbd.enabled)
        assert not person.sees("USB debugging")


@pytest.mark.parametrize("off", [
    "settings put global adb_enabled 0",
    "settings delete global adb_enabled",
    "content update --uri content://settings/global/adb_enabled --bind value:s:0",
])  # fmt: skip
async def test_every_way_of_writing_the_setting_counts(tmp_path: Path, off: str) -> None:
    async with booted(tmp_path) as phone:
        await sh(phone, off)
        await until(lambda: not phone.adbd.enabled)
        assert await is_silent(phone)
        await sh(phone, "settings put global adb_enabled 1")
        await until(lambda: phone.adbd.enabled)
        assert await answers(phone)


async def test_it_stays_off_through_a_reboot_and_ends_with_a_loaded_snapshot(
    tmp_path: Path,
) -> None:
    async with booted(tmp_path) as phone:
        await ask(phone, "avd snapshot save on")
        await sh(phone, "settings put global adb_enabled 0")
        await until(lambda: not phone.adbd.enabled)
        await ask(phone, "avd snapshot save off")
        boot_id = phone.world.boot_id
        phone.reboot()
        await until(lambda: phone.world.boot_id != boot_id and is_up(phone))
        assert await is_silent(phone)
        for tag, heard in (("on", True), ("off", False), ("on", True)):
            assert await ask(phone, f"avd snapshot load {tag}") == "OK\r\n"
            assert await (answers if heard else is_silent)(phone)
            assert runs(phone) == heard


async def test_a_phone_left_with_it_off_starts_with_it_off(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        await sh(phone, "settings put global adb_enabled 0")
        avd = phone.avd
    again = new_phone(tmp_path, avd=avd)
    await again.listen()
    try:
        again.power_on()
        await until(lambda: is_up(again))
        assert await is_silent(again)
    finally:
        await again.stop()


async def test_a_stopped_guest_is_not_answering_for_being_enabled(tmp_path: Path) -> None:
    async with booted(tmp_path) as phone:
        await sh(phone, "settings put global adb_enabled 0")
        await until(lambda: not phone.adbd.enabled)
        phone.stop_guest()
        phone.start_guest()
        assert await is_silent(phone)


async def asked_of_init(tmp_path: Path, *argv: str) -> list[str]:
    """What the log says of init, while adb is switched off, and the phone restarted and ended."""
    log: list[str] = []
    async with booted(tmp_path, *argv, log=log) as phone:
        boot_id = phone.world.boot_id
        await sh(phone, "settings put global adb_enabled 0")
        await until(lambda: not phone.adbd.enabled)
        await sh(phone, "svc power reboot")
        await until(lambda: phone.world.boot_id != boot_id and is_up(phone))
        await sh(phone, "svc power shutdown")
        await asyncio.wait_for(phone.exited, 60)
    return [line.partition("init: ")[2] for line in log if "init: " in line]


async def test_the_kernels_log_says_what_system_server_asked_init_for(tmp_path: Path) -> None:
    said = await asked_of_init(tmp_path, "-show-kernel")
    assert [line.partition(" from pid: ")[0] for line in said] == [
        "Received control message 'stop' for 'adbd'",
        "Received sys.powerctl='reboot,userrequested'",
        "Received sys.powerctl='shutdown,userrequested'",
    ]
    assert all(line.endswith("(system_server)") for line in said)


async def test_the_kernels_log_is_shown_only_to_who_asks_for_it(tmp_path: Path) -> None:
    assert await asked_of_init(tmp_path) == []


async def test_a_phone_that_its_console_kills_asked_init_for_nothing(tmp_path: Path) -> None:
    log: list[str] = []
    async with booted(tmp_path, "-show-kernel", log=log) as phone:
        await ask(phone, "kill")
        await asyncio.wait_for(phone.exited, 60)
    assert not any("init: " in line for line in log)
