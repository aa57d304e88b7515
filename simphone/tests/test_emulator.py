"""The phone as a process: it starts, says what it does, and ends with an honest exit code."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import adbutils
import pytest

from simphone.avd import Avd, create_avd
from tests.booted import WAIT_S
from tests.ports import even_port

COMPLETED = "Boot completed in "


class Machine:
    """A host with one AVD home, one HOME and one adb server port."""

    def __init__(self, root: Path) -> None:
        self.avd: Avd = create_avd(root / "avd", "x")
        self.home = root / "home"
        self.home.mkdir()
        self.server_port = even_port()
        self.env = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "HOME": str(self.home),
            "ANDROID_AVD_HOME": str(root / "avd"),
            "ANDROID_ADB_SERVER_PORT": str(self.server_port),
            "PYTHONPATH": os.getcwd(),
        }

    async def spawn(self, program: str, *argv: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            program, *argv, env=self.env, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip

    async def ends(self, *argv: str) -> tuple[int, str]:
        """An emulator that ends by itself: its exit code and all it said."""
        process = await self.spawn(sys.executable, "-m", "simphone", *argv)
        async with asyncio.timeout(WAIT_S):
            said, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, said.decode()

    async def adb(self, *argv: str) -> tuple[int, str]:
        process = await self.spawn(adbutils.adb_path(), *argv)
        async with asyncio.timeout(WAIT_S):
            said, _ = await process.communicate()
        return process.returncode or 0, said.decode()

    @asynccontextmanager
    async def phone(self, *argv: str, until: str = COMPLETED) -> AsyncIterator[Running]:
        port = even_port()
        command = ("-m", "simphone", "-avd", "x", "-port", str(port), "-no-window")
        process = await self.spawn(sys.executable, *command, "-skip-adb-auth", *argv)
        running = Running(self, process, port)
        try:
            await running.says(until)
            yield running
        finally:
            if process.returncode is None:
                process.terminate()
                async with asyncio.timeout(WAIT_S):
                    await process.communicate()


class Running:
    def __init__(self, machine: Machine, process: asyncio.subprocess.Process, port: int) -> None:
        self.machine = machine
        self.process = process
        self.port = port
        self.log: list[str] = []

    async def says(self, text: str) -> None:
        assert self.process.stdout is not None
        async with asyncio.timeout(WAIT_S):
            while not self.log or text not in self.log[-1]:
                line = await self.process.stdout.readline()
                assert line, f"ended without saying {text!r}: {self.log}"
                self.log.append(line.decode().rstrip("\n"))

    async def console(self, *lines: str) -> str:
        token = (self.machine.home / ".emulator_console_auth_token").read_text()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write("".join(f"{line}\n" for line in (f"auth {token}", *lines, "quit")).encode())
        async with asyncio.timeout(WAIT_S):
            said = (await reader.read()).decode()
        writer.close()
        return said.split("for a list of commands\r\nOK\r\n", 1)[1]

    async def ends(self) -> int:
        async with asyncio.timeout(WAIT_S):
            await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_adb_takes_the_phone_for_an_emulator_through_a_reset(machine: Machine) -> None:
    await machine.adb("start-server")
    try:
        async with machine.phone() as phone:
            serial = f"emulator-{phone.port}"
            await machine.adb("-s", serial, "wait-for-device")
            assert f"{serial}\tdevice" in (await machine.adb("devices"))[1]
            assert await machine.adb("-s", serial, "emu", "avd", "snapshot", "save", "clean") == (
                0,
                "OK\r\n",
            )
            assert await machine.adb("-s", serial, "shell", "echo new > /sdcard/f; exit 3") == (
                3,
                "",
            )
            assert await machine.adb("-s", serial, "emu", "avd", "snapshot", "load", "clean") == (
                0,
                "OK\r\n",
            )
            async with asyncio.timeout(60):  # adb lists the former connection for a moment
                while "transport_id:2" not in (await machine.adb("devices", "-l"))[1]:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            await machine.adb("-s", serial, "wait-for-device")
            code, said = await machine.adb("-s", serial, "shell", "test -e /sdcard/f")
            assert (code, said) == (1, "")
            transports = re.findall(r"transport_id:(\d+)", (await machine.adb("devices", "-l"))[1])
            assert transports == ["2"]
            assert await machine.adb("-s", serial, "emu", "kill") == (
                0,
                "OK: killing emulator, bye bye\r\nOK\r\n",
            )
            assert await phone.ends() == 0
    finally:
        await machine.adb("kill-server")


async def test_the_log_names_the_version_and_the_boot(machine: Machine) -> None:
    async with machine.phone() as phone:
        assert phone.log[0].endswith(
            "| Android emulator version 35.6.11.0 (build_id 13610412) (CL:N/A)"
        )
        assert re.search(r"\| Boot completed in \d+ ms$", phone.log[-1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_with_code_0_and_frees_everything(
    machine: Machine, number: signal.Signals
) -> None:
    async with machine.phone() as phone:
        phone.process.send_signal(number)
        assert await phone.ends() == 0
        assert not (machine.avd.folder / "hardware-qemu.ini.lock").exists()
        assert machine.avd.snapshots.is_dir()
        assert not list(machine.avd.snapshots.iterdir())
        for port in (phone.port, phone.port + 1):
            with socket.socket() as probe:
                assert probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("which", [0, 1])
async def test_a_port_in_use_is_one_clear_error(machine: Machine, which: int) -> None:
    port = even_port()
    with socket.create_server(("127.0.0.1", port + which)):
        code, said = await machine.ends("-avd", "x", "-port", str(port))
    assert code == 1
    assert said.splitlines()[-1].endswith(
        "| It seems too many emulator instances are running on this machine. Aborting."
    )
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["-avd", "nope"], "PANIC: Unknown AVD name [nope], use -list-avds to see valid list."),
        ([], "No AVD specified."),
        (["-avd", "x", "-foo"], "unknown option: -foo\nplease use -help for a list of valid"),
    ],
)
async def test_what_cannot_start_exits_1_and_says_why(
    machine: Machine, argv: list[str], said: str
) -> None:
    code, text = await machine.ends(*argv)
    assert code == 1
    assert text.startswith(said)


async def test_a_corrupt_config_exits_1(machine: Machine) -> None:
    (machine.avd.folder / "config.ini").write_bytes(os.urandom(64).replace(b"=", b"x"))
    code, said = await machine.ends("-avd", "x")
    assert code == 1
    assert said.startswith("PANIC: Corrupt config.ini of AVD [x]:")
    assert len(said.splitlines()) == 1


async def test_questions_are_answered_without_a_phone(machine: Machine) -> None:
    code, said = await machine.ends("-version")
    assert code == 0
    assert said.startswith("Android emulator version 35.6.11.0 (build_id 13610412) (CL:N/A)\n")
    assert await machine.ends("-list-avds") == (0, "x\n")
    code, said = await machine.ends("-accel-check")
    assert (code, said.splitlines()[:2]) == (0, ["accel:", "0"])
    assert await machine.ends("-avd", "x", "-check-snapshot-loadable", "t") == (
        0,
        "Not loadable\nReason: snapshot doesn't exist\n",
    )
    assert await machine.ends("-avd", "x", "-snapshot-list") == (
        0,
        "There is no snapshot available.\n",
    )


async def test_one_avd_runs_once_unless_read_only(machine: Machine) -> None:
    async with machine.phone():
        code, said = await machine.ends("-avd", "x", "-port", str(even_port()))
        assert code == 1
        assert "| Running multiple emulators with the same AVD\n" in said
        assert "| Please use -read-only flag to enable this feature.\n" in said
        async with machine.phone("-read-only") as second:
            assert await second.console("avd snapshot save t") == (
                'KO: Snapshot save is disabled because "-read-only" was specified\r\n'
            )


async def test_a_killed_phone_leaves_a_lock_that_does_not_hold(machine: Machine) -> None:
    async with machine.phone() as phone:
        phone.process.kill()
        assert await phone.ends() == -signal.SIGKILL
        assert (machine.avd.folder / "hardware-qemu.ini.lock").exists()
    async with machine.phone() as phone:
        pid = (machine.avd.folder / "hardware-qemu.ini.lock").read_text()
        assert pid == str(phone.process.pid)


async def test_a_phone_started_from_a_snapshot_is_the_saved_one(machine: Machine) -> None:
    async with machine.phone() as phone:
        assert await phone.console("avd snapshot save clean") == "OK\r\n"
    count = (machine.avd.folder / "boot_count").read_text()
    assert (await machine.ends("-avd", "x", "-check-snapshot-loadable", "clean"))[1] == "Loadable\n"
    async with machine.phone("-snapshot", "clean", "-force-snapshot-load") as phone:
        assert [line.partition("| ")[2] for line in phone.log[2:4]] == [
            "Loading snapshot 'clean'...",
            "Successfully loaded snapshot 'clean'",
        ]
        assert await phone.console("avd snapshot get") == "clean\r\nOK\r\n"
    assert (machine.avd.folder / "boot_count").read_text() == count
    changed = await machine.ends(
        "-avd", "x", "-memory", "2048", "-check-snapshot-loadable", "clean"
    )
    assert changed == (0, "Not loadable\nReason: different AVD configuration\n")


async def test_a_forced_load_that_fails_deletes_the_snapshot_and_exits(machine: Machine) -> None:
    async with machine.phone() as phone:
        await phone.console("avd snapshot save a")
    place = machine.avd.snapshots / "a"
    shutil.copytree(place, machine.avd.snapshots / "b")
    (place / "ram.bin").unlink()
    async with machine.phone("-snapshot", "a") as phone:
        said = "\n".join(phone.log)
        assert "| Failed to load snapshot 'a'" in said
        assert "| starting from scratch. Reason: missing saved RAM data" in said
        assert "| performing a cold boot" in said
        assert place.exists()
    argv = ("-avd", "x", "-port", str(even_port()), "-snapshot", "a", "-force-snapshot-load")
    code, said = await machine.ends(*argv)
    assert code == 1
    assert said.splitlines()[-1].endswith(
        "| Failed to load snapshot, because 'missing saved RAM data'; "
        "Emulator will delete existing snapshot and exit."
    )
    assert not place.exists()
    code, said = await machine.ends(*argv)
    assert code == 1
    assert "because 'snapshot doesn't exist'" in said
    assert [path.name for path in machine.avd.snapshots.iterdir()] == ["b"]


async def test_the_disk_outlives_the_process_and_wipe_data_ends_it(machine: Machine) -> None:
    mark = machine.avd.userdata / "data/media/0/Download/mark"
    async with machine.phone():
        mark.write_text("kept")
    async with machine.phone():
        assert mark.read_text() == "kept"
    async with machine.phone("-wipe-data"):
        assert not mark.exists()
        assert mark.parent.is_dir()


async def test_phones_that_start_at_once_take_ports_of_their_own(machine: Machine) -> None:
    """And the token file is made by exactly one of them."""

    async def one() -> int:
        process = await machine.spawn(
            sys.executable, "-m", "simphone", "-avd", "x", "-read-only", "-no-window"
        )
        running = Running(machine, process, 0)
        try:
            await running.says(COMPLETED)
        finally:
            process.terminate()
        return await running.ends()

    assert await asyncio.gather(*(one() for _ in range(4))) == [0] * 4
    assert len((machine.home / ".emulator_console_auth_token").read_text()) == 16
