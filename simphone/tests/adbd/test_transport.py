"""The real adb takes the phone for a device, with many conversations at once."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from simphone.adbd import packets
from simphone.adbd.handshake import Reception
from simphone.adbd.packets import CLSE, CNXN, OKAY, OPEN, WRTE
from simphone.faults.seam import Faults
from simphone.shell.interpreter import run_script
from tests.adbd.stand_in import AdbServer, Phone, raw_host, running_phone


async def test_adb_lists_the_phone_with_its_product(phone: Phone) -> None:
    listed = (await phone.adb("devices", "-l")).text
    line = next(line for line in listed.splitlines() if line.startswith(phone.serial))
    assert " device " in line
    assert "product:sdk_x model:Pixel_x device:emu64x" in line


@pytest.mark.parametrize("code", [0, 1, 127, 255])
async def test_exit_codes_arrive(phone: Phone, code: int) -> None:
    assert (await phone.adb("shell", "exit", str(code))).code == code


async def test_stdout_and_stderr_stay_apart(phone: Phone) -> None:
    ended = await phone.adb("shell", "complain")
    assert (ended.out, ended.err) == (b"out\n", b"err\n")


async def test_stdin_reaches_the_command_and_ends(phone: Phone) -> None:
    sent = os.urandom(3_000_000)
    ended = await phone.adb("shell", "cat", stdin=sent)
    assert ended.code == 0
    assert hashlib.sha256(ended.out).digest() == hashlib.sha256(sent).digest()


@pytest.mark.parametrize("verb", ["shell", "exec-out"])
async def test_five_megabytes_of_binary_stdout_arrive_whole(phone: Phone, verb: str) -> None:
    content = os.urandom(5_000_000)
    phone.world.disk.own("/data/local/tmp/big").write_bytes(content)
    ended = await phone.adb(verb, "show /data/local/tmp/big")
    assert ended.code == 0
    assert ended.out == content


async def test_exec_in_delivers_everything_before_it_hangs_up(phone: Phone) -> None:
    content = os.urandom(2_000_000)
    await phone.adb("exec-in", "save /data/local/tmp/in", stdin=content)
    while asyncio.all_tasks() - {asyncio.current_task()}:  # the command may still be reading
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
    assert phone.world.disk.read("/data/local/tmp/in", 2000) == content


async def test_a_v1_shell_is_raw_and_merged(phone: Phone) -> None:
    reader, writer = await phone.request("shell:complain")
    assert await reader.read() == b"out\nerr\n"
    writer.close()


async def test_a_terminal_echoes_and_ends_lines_with_crlf(phone: Phone) -> None:
    ended = await phone.adb("shell", "-tt", "cat", stdin=b"hullo\x7f\x7fl\xc3\xa9\x7fo\r\x04")
    assert ended.code == 0
    assert ended.out == b"hullo\b \b\b \bl\xc3\xa9\b \bo\r\nhullo\r\n"


async def test_control_c_on_a_terminal_ends_the_command(phone: Phone) -> None:
    ended = await phone.adb("shell", "-tt", "forever", stdin=b"\x03")
    assert ended.code == 130
    assert phone.cancelled.is_set()


async def test_twenty_shells_run_side_by_side(phone: Phone) -> None:
    ended = await asyncio.gather(*(phone.adb("shell", f"echo {n}; true") for n in range(20)))
    assert [e.out for e in ended] == [b"%d; true\n" % n for n in range(20)]


@pytest.mark.parametrize(
    "service", ["jdwp", "track-jdwp", "framebuffer:", "dev:/dev/null", "localabstract:x", "tcp:9"]
)
async def test_services_that_the_phone_lacks_are_refused(phone: Phone, service: str) -> None:
    with pytest.raises(ConnectionError, match="closed"):
        await phone.request(service)
    assert (await phone.adb("shell", "exit", "0")).code == 0


async def test_root_and_unroot_restart_adbd_as_the_other_user(phone: Phone) -> None:
    assert (await phone.adb("shell", "id")).out == b"2000\n"
    assert (await phone.adb("root")).text == "restarting adbd as root\n"
    await phone.adb("wait-for-device")
    assert (await phone.adb("shell", "id")).out == b"0\n"
    assert (await phone.adb("root")).text == "adbd is already running as root\n"
    before = await transport_id(phone)
    reader, writer = await phone.request("unroot:")
    assert await reader.read() == b"restarting adbd as non root\n"
    writer.close()
    await is_connected_anew(phone, before)
    assert (await phone.adb("shell", "id")).out == b"2000\n"


async def test_a_production_build_has_no_root(phone: Phone) -> None:
    phone.world.properties.force("ro.debuggable", "0")
    assert (await phone.adb("root")).text == "adbd cannot run as root in production builds\n"


async def test_reboot_reaches_the_machine(phone: Phone) -> None:
    assert (await phone.adb("reboot")).code == 0
    assert phone.reboots == 1


async def transport_id(phone: Phone) -> int:
    """0 where adb has no connection."""
    listed = (await phone.adb("devices", "-l")).text
    lines = (line for line in listed.splitlines() if line.startswith(f"{phone.serial} "))
    return int(next(lines, "transport_id:0").rpartition("transport_id:")[2])


async def is_connected_anew(phone: Phone, before: int) -> None:
    """adb lists the former connection for a moment."""
    async with asyncio.timeout(60):
        while await transport_id(phone) <= before:  # noqa: ASYNC110 - adb tells no event
            await asyncio.sleep(0.05)
    await phone.adb("wait-for-device")


async def test_a_dropped_phone_comes_back_with_a_new_transport(phone: Phone) -> None:
    before = await transport_id(phone)
    phone.adbd.drop_all()
    await phone.connect()
    await is_connected_anew(phone, before)


async def test_while_the_machine_stands_still_nobody_answers(phone: Phone) -> None:
    async with raw_host(phone.adbd.port) as host:
        stream = await host.open("shell:cat")
        phone.adbd.pause()
        async with raw_host(phone.adbd.port) as late:
            host.send(WRTE, 7, stream, b"hello")
            answers = {
                asyncio.create_task(late.introduce()),
                asyncio.create_task(host.receive()),
            }
            assert (await asyncio.wait(answers, timeout=0.1))[0] == set()
            phone.adbd.resume()
            first = {(await answer)[0].command for answer in answers}
        assert first == {CNXN, OKAY}
        assert (await host.receive())[1] == b"hello"


async def test_a_host_that_closes_a_stream_ends_its_command(phone: Phone) -> None:
    async with raw_host(phone.adbd.port) as host:
        stream = await host.open("shell:forever")
        await host.receive()
        host.send(CLSE, 7, stream)
        await asyncio.wait_for(phone.cancelled.wait(), 60)


async def test_a_host_that_vanishes_leaves_no_task_behind(phone: Phone) -> None:
    before = asyncio.all_tasks()
    async with raw_host(phone.adbd.port) as host:
        await host.open("shell,v2,pty:forever")
        await host.receive()
    await asyncio.wait_for(phone.cancelled.wait(), 60)
    await phone.adbd.settled()
    assert asyncio.all_tasks() <= before


async def test_the_phone_waits_for_the_okay_of_each_packet(phone: Phone) -> None:
    phone.world.disk.own("/data/local/tmp/big").write_bytes(bytes(3_000_000))
    async with raw_host(phone.adbd.port) as host:
        stream = await host.open("shell:show /data/local/tmp/big")
        got = 0
        while got < 3_000_000:
            header, payload = await host.receive()
            assert header.command == WRTE
            assert len(payload) <= packets.MAX_PAYLOAD
            got += len(payload)
            # The answer to this comes next: nothing more of the stream was sent.
            host.send(OPEN, 8, 0, b"no such service")
            header, _ = await host.receive()
            assert (header.command, header.arg1) == (CLSE, 8)
            host.send(OKAY, 7, stream)
        assert (await host.receive())[0].command == CLSE


async def test_input_that_nobody_reads_stops_being_acknowledged(phone: Phone) -> None:
    async with raw_host(phone.adbd.port) as host:
        stream = await host.open("shell:forever")
        await host.receive()
        host.send(WRTE, 7, stream, bytes(packets.MAX_PAYLOAD - 1))
        assert (await host.receive())[0].command == OKAY
        host.send(WRTE, 7, stream, bytes(packets.MAX_PAYLOAD))
        host.send(OPEN, 8, 0, b"no such service")
        header, _ = await host.receive()
        assert (header.command, header.arg1) == (CLSE, 8)


async def test_a_small_host_gets_small_packets(phone: Phone) -> None:
    phone.world.disk.own("/data/local/tmp/f").write_bytes(bytes(10_000))
    async with raw_host(phone.adbd.port) as host:
        host.send(CNXN, packets.VERSION_MIN, 4096, b"host::")
        header, payload = await host.receive()
        assert header.checksum == packets.checksum(payload)
        host.send(OPEN, 7, 0, b"shell:show /data/local/tmp/f\0")
        stream = (await host.receive())[0].arg0
        sizes = []
        while (answer := await host.receive())[0].command == WRTE:
            assert answer[0].checksum == packets.checksum(answer[1])
            sizes.append(len(answer[1]))
            host.send(OKAY, 7, stream)
        assert sizes == [4096, 4096, 1808]


async def test_a_fault_can_leave_a_host_without_an_answer(
    tmp_path: Path, server: AdbServer
) -> None:
    faults = Faults({"adbd.accept": lambda _: Reception.OFFLINE})
    running = running_phone(tmp_path, server, faults=faults)
    async with running as phone, raw_host(phone.adbd.port) as host:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(host.introduce(), 0.1)


async def test_a_fault_can_hang_up_on_a_host(tmp_path: Path, server: AdbServer) -> None:
    def refuse(value: Reception) -> Reception:
        raise ConnectionResetError("planted")

    faults = Faults({"adbd.accept": refuse})
    running = running_phone(tmp_path, server, faults=faults)
    async with running as phone, raw_host(phone.adbd.port) as host:
        assert await host.hung_up_on() == b""


async def test_a_fault_can_change_a_service_and_lose_an_exit_code(
    tmp_path: Path, server: AdbServer
) -> None:
    planted = {
        "adbd.service": lambda name: name.replace("wrong", "right"),
        "adbd.exit": lambda code: None if code == 3 else code,
    }
    async with running_phone(tmp_path, server, faults=Faults(planted)) as phone:
        await phone.connect()
        assert (await phone.adb("shell", "echo", "wrong")).out == b"right\n"
        reader, writer = await phone.request("shell,v2,raw:exit 3")
        assert await reader.read() == b""
        writer.close()


async def test_an_interactive_shell_prompts_and_survives_control_c(
    tmp_path: Path, server: AdbServer
) -> None:
    async with running_phone(tmp_path, server, run_shell=run_script) as phone:
        await phone.connect()
        reader, writer = await phone.request("shell:")
        for typed, shown in (
            (b"", b"emu64xa:/ $ "),
            (b"echo go; read x\r", b"\r\ngo\r\n"),
            (b"\x03", b"130|emu64xa:/ $ "),
            (b"nonsense\x03", b"emu64xa:/ $ "),
            (b"echo a  b\r", b"a b\r\n"),
        ):
            writer.write(typed)
            await asyncio.wait_for(reader.readuntil(shown), 60)
        writer.write(b"exit\r")
        assert (await asyncio.wait_for(reader.read(), 60)).endswith(b"exit\r\n")
        writer.close()


async def test_control_d_ends_the_program_that_reads_not_the_shell(
    tmp_path: Path, server: AdbServer
) -> None:
    async with running_phone(tmp_path, server, run_shell=run_script) as phone:
        await phone.connect()
        reader, writer = await phone.request("shell:")
        # All at once: what is typed ahead of an end is not lost to it, nor is the end to it.
        writer.write(b"cat\rone\r\x04cat\rtw\x04o\x04\x04echo $?; su\r\x04exit 3\rnever")
        shown = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        assert shown.count(b"one\r\n") == 2  # echoed, and by cat
        assert b"two" in shown
        assert b"emu64xa:/ $ 0\r\n" in shown
        assert b"emu64xa:/ # " in shown
        assert shown.endswith(b"emu64xa:/ $ ")


async def test_control_d_at_the_prompt_ends_the_shell(tmp_path: Path, server: AdbServer) -> None:
    async with running_phone(tmp_path, server, run_shell=run_script) as phone:
        await phone.connect()
        assert (await phone.adb("shell", "-tt", stdin=b"(exit 3)\r\x04echo never\r")).code == 3
