"""The process dies, hangs and does not start as an emulator's does."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from simphone.faults.start import LAST_WORDS
from tests.booted import WAIT_S
from tests.ports import even_port
from tests.test_emulator import Machine, Running


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def arm(phone: Running, words: str) -> None:
    assert await phone.console(f"sim-fault arm {words}") == "OK\r\n"


async def adb(phone: Running, *words: str) -> tuple[int, str]:
    return await phone.machine.adb("-s", f"emulator-{phone.port}", *words)


ENDS = [("exits-139", -signal.SIGSEGV), ("exits-137", -signal.SIGKILL), ("exits-0", 0)]


@pytest.mark.parametrize(("name", "code"), ENDS)
@pytest.mark.parametrize("at", ["shell", "screencap"])
async def test_the_process_ends_in_the_middle_of_a_query(
    machine: Machine, name: str, code: int, at: str
) -> None:
    await machine.adb("start-server")
    try:
        async with machine.phone("-sim-faults") as phone:
            await adb(phone, "wait-for-device")
            await arm(phone, f"{name} at={at} after=1")
            query = "echo whole" if at == "shell" else "screencap -p | wc -c"
            code_before, said = await adb(phone, "shell", query)
            assert (code_before, bool(said)) == (0, True)
            assert phone.process.returncode is None
            assert (await adb(phone, "shell", query))[1] == ""
            assert await phone.ends() == code
        async with machine.phone() as phone:  # what is left can be started
            assert await phone.console("ping") == "I am alive!\r\nOK\r\n"
    finally:
        await machine.adb("kill-server")


@pytest.mark.parametrize(("name", "code"), ENDS)
async def test_the_process_ends_in_a_load_or_when_its_boot_is_completed(
    machine: Machine, name: str, code: int
) -> None:
    async with machine.phone("-sim-faults") as phone:
        assert await phone.console("avd snapshot save a") == "OK\r\n"
        await arm(phone, f"{name} at=snapshot.loaded")
        _, writer = await asyncio.open_connection("127.0.0.1", phone.port)
        token = (machine.home / ".emulator_console_auth_token").read_text()
        writer.write(f"auth {token}\navd snapshot load a\n".encode())
        assert await phone.ends() == code
        writer.close()
    argv = ("-avd", "x", "-port", str(even_port()), "-sim-fault")
    assert (await machine.ends(*argv, f"{name},at=boot.completed"))[0] == code


def cpu_ticks(pid: int) -> tuple[str, int]:
    """The state of the process, and what it has used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return words[0], int(words[11]) + int(words[12])


async def test_a_hung_process_lives_and_answers_nobody(machine: Machine) -> None:
    async with machine.phone("-sim-faults") as phone:
        await arm(phone, "hung at=console.command after=1")
        assert await phone.console("ping") == "I am alive!\r\nOK\r\n"
        token = (machine.home / ".emulator_console_auth_token").read_text()
        reader, writer = await asyncio.open_connection("127.0.0.1", phone.port)
        writer.write(f"auth {token}\nping\n".encode())
        pid = phone.process.pid
        await reader.readuntil(b"commands\r\nOK\r\n")
        before = cpu_ticks(pid)
        async with asyncio.timeout(WAIT_S):  # what it began before is done soon
            while await said_nothing(phone.port) and cpu_ticks(pid) != before:
                before = cpu_ticks(pid)
        assert before[0] == "S"
        for port in (phone.port, phone.port + 1):
            assert await said_nothing(port)
        assert cpu_ticks(pid) == before
        phone.process.send_signal(signal.SIGTERM)
        assert await said_nothing(phone.port)
        assert phone.process.returncode is None
        phone.process.kill()
        assert await phone.ends() == -signal.SIGKILL
        writer.close()


async def said_nothing(port: int) -> bool:
    """Whether a connection is taken by the kernel and greeted by nobody for a while."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(0.3):
            await reader.readexactly(1)
    except TimeoutError:
        return True
    finally:
        writer.close()
    return False


@pytest.mark.parametrize("name", LAST_WORDS)
async def test_a_start_fails_with_the_emulators_last_words(machine: Machine, name: str) -> None:
    code, said = await machine.ends("-avd", "x", "-sim-fault", name)
    assert code == 1
    words = [f"{level:<12} | {text.format('x')}" for level, text in LAST_WORDS[name]]
    assert said.splitlines()[2:] == words
    assert not (machine.avd.folder / "multiinstance.lock").exists()


def test_the_last_words_are_those_of_the_wild() -> None:
    said = "\n".join(text for lines in LAST_WORDS.values() for _, text in lines)
    for words in (
        "Running multiple emulators with the same AVD",
        "A snapshot operation for '{}' is pending and timeout has expired. Exiting...",
        "ProbeKVM: This user doesn't have permissions to use KVM (/dev/kvm)",
        "/dev/kvm is not found: VT disabled in BIOS or KVM kernel module not loaded",
        "Not enough disk space to run AVD '{}'. Exiting...",
        "Not enough space to create userdata partition",
        "PANIC: Broken AVD system path",
        "detected a hanging thread 'QEMU2 main loop'. No response for 15000 ms",
    ):
        assert words in said


async def test_a_forced_load_may_boot_cold_and_say_so_only_in_the_log(machine: Machine) -> None:
    async with machine.phone() as phone:
        assert await phone.console("avd snapshot save clean") == "OK\r\n"
    count = int((machine.avd.folder / "boot_count").read_text())
    forced = ("-snapshot", "clean", "-force-snapshot-load", "-sim-fault")
    async with machine.phone(*forced, "snapshot-cold-boot") as phone:
        assert [line.partition("| ")[2] for line in phone.log[2:6]] == [
            "Loading snapshot 'clean'...",
            "Device 'cache' does not have the requested snapshot",
            "Failed to load snapshot 'clean'",
            "performing a cold boot",
        ]
        assert await phone.console("avd snapshot get") == "(null)\r\nOK\r\n"
    assert (machine.avd.folder / "boot_count").read_text() == str(count + 1)
    async with machine.phone(*forced, "snapshot-cold-boot,after=1") as phone:
        assert await phone.console("avd snapshot get") == "clean\r\nOK\r\n"


@pytest.mark.parametrize(
    ("name", "reason", "left"),
    [
        ("snapshot-missing", "snapshot doesn't exist", True),
        ("snapshot-corrupt", "bad snapshot data", False),
    ],
)
async def test_a_forced_load_that_fails_at_the_start_exits_1(
    machine: Machine, name: str, reason: str, left: bool
) -> None:
    async with machine.phone() as phone:
        assert await phone.console("avd snapshot save clean") == "OK\r\n"
    argv = ("-avd", "x", "-port", str(even_port()), "-snapshot", "clean", "-force-snapshot-load")
    code, said = await machine.ends(*argv, "-sim-fault", name)
    assert code == 1
    assert f"Failed to load snapshot, because '{reason}'" in said
    assert (machine.avd.snapshots / "clean").exists() is left


async def test_a_new_process_has_only_what_its_command_line_says(machine: Machine) -> None:
    async with machine.phone("-sim-faults", "-sim-fault", "anr,after=5") as phone:
        await arm(phone, "slow")
        rows = (await phone.console("sim-fault list")).splitlines()
        assert [row.split()[0] for row in rows] == ["anr", "slow", "OK"]
    async with machine.phone("-sim-faults", "-sim-fault", "anr,after=5") as phone:
        assert await phone.console("sim-fault list") == (
            "anr at=shell after=5 times=1 armed=yes passages=0 happened=0\r\nOK\r\n"
        )
