"""The phone reaches its host, and the host what listens in the phone."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator

import pytest

from simphone.adbd.network import Wire
from simphone.adbd.packets import CLSE, OKAY, OPEN, WRTE, encode
from tests.adbd.stand_in import Phone, raw_host


@pytest.fixture
async def host_port() -> AsyncIterator[int]:
    """A host program that answers each line with itself, shouted."""
    writers: list[asyncio.StreamWriter] = []

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        while line := await reader.readline():
            writer.write(line.upper())
        writer.close()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    for writer in writers:
        writer.close()


async def ask(phone: Phone, host: str, port: int, line: bytes) -> bytes:
    wire = await phone.world.network.connect(host, port)
    try:
        await wire.write(line)
        return await asyncio.wait_for(wire.read(), 60)
    finally:
        wire.close()


async def test_a_reversed_port_leads_to_the_host(phone: Phone, host_port: int) -> None:
    assert (await phone.adb("reverse", "tcp:8080", f"tcp:{host_port}")).code == 0
    assert await ask(phone, "127.0.0.1", 8080, b"hello\n") == b"HELLO\n"
    answers = await asyncio.gather(
        *(ask(phone, "localhost", 8080, b"n%d\n" % n) for n in range(10))
    )
    assert answers == [b"N%d\n" % n for n in range(10)]


async def test_what_a_host_says_and_closes_in_one_breath_is_heard(phone: Phone) -> None:
    async with raw_host(phone.adbd.port) as host:
        stream = await host.open("reverse:forward:tcp:8080;tcp:9")
        assert (await host.receive())[1] == b"OKAY"
        host.send(OKAY, 7, stream)
        assert (await host.receive())[0].command == CLSE
        dialling = asyncio.create_task(phone.world.network.connect("127.0.0.1", 8080))
        header, place = await host.receive()
        assert (header.command, place) == (OPEN, b"tcp:9\0")
        there = header.arg0
        one_breath = [(OKAY, b""), (WRTE, b"hello"), (CLSE, b"")]
        host.writer.write(b"".join(encode(word, 9, there, data) for word, data in one_breath))
        wire = await dialling
        assert [await wire.read(), await wire.read()] == [b"hello", b""]


async def test_a_listener_that_spoke_and_left_is_heard_by_one_who_speaks_too(phone: Phone) -> None:
    """The caller's own words fail first; what was said to it is carried all the same."""

    async def greet(wire: Wire) -> None:
        await wire.write(b"hello")
        wire.close()

    phone.world.network.listen(8080, greet)
    async with raw_host(phone.adbd.port) as host:
        there = await host.open("tcp:8080")
        host.send(WRTE, 7, there, b"anybody there?")
        answers = [await host.receive(), await host.receive()]
        assert [data for _, data in answers if data] == [b"hello"]


async def test_the_last_words_through_a_forwarded_port_arrive(phone: Phone) -> None:
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def listen(wire: Wire) -> None:
        while data := await wire.read():
            heard.put_nowait(data)

    phone.world.network.listen(8080, listen)
    async with raw_host(phone.adbd.port) as host:
        there = await host.open("tcp:8080")
        last = [(WRTE, b"goodbye"), (CLSE, b"")]
        host.writer.write(b"".join(encode(word, 7, there, data) for word, data in last))
        assert await asyncio.wait_for(heard.get(), 60) == b"goodbye"


async def test_large_answers_pass_a_reversed_port(phone: Phone, host_port: int) -> None:
    await phone.adb("reverse", "tcp:8080", f"tcp:{host_port}")
    wire = await phone.world.network.connect("127.0.0.1", 8080)
    sent = b"x" * 50_000 + b"\n"
    got = b""
    for _ in range(40):
        await wire.write(sent)
    while len(got) < 40 * len(sent):
        got += await asyncio.wait_for(wire.read(), 60)
    assert got == sent.upper() * 40
    wire.close()


async def test_reversed_ports_are_listed_and_removed(phone: Phone, host_port: int) -> None:
    await phone.adb("reverse", "tcp:8080", f"tcp:{host_port}")
    await phone.adb("reverse", "tcp:8081", "tcp:9")
    listed = (await phone.adb("reverse", "--list")).text
    assert re.findall(r"tcp:\d+ tcp:\d+", listed) == [
        f"tcp:8080 tcp:{host_port}",
        "tcp:8081 tcp:9",
    ]
    assert (await phone.adb("reverse", "--remove", "tcp:8080")).code == 0
    again = await phone.adb("reverse", "--remove", "tcp:8080")
    assert again.code == 1
    assert "listener 'tcp:8080' not found" in again.text
    assert (await phone.adb("reverse", "--remove-all")).code == 0
    assert (await phone.adb("reverse", "--list")).text.strip() == ""
    with pytest.raises(ConnectionRefusedError):
        await phone.world.network.connect("127.0.0.1", 8081)


async def test_a_port_is_rebound_only_where_that_is_wanted(phone: Phone, host_port: int) -> None:
    await phone.adb("reverse", "tcp:8080", "tcp:9")
    refused = await phone.adb("reverse", "--no-rebind", "tcp:8080", f"tcp:{host_port}")
    assert "cannot rebind existing socket" in refused.text
    assert (await phone.adb("reverse", "tcp:8080", f"tcp:{host_port}")).code == 0
    assert await ask(phone, "127.0.0.1", 8080, b"moved\n") == b"MOVED\n"


async def test_port_0_becomes_a_free_one_and_is_told(phone: Phone, host_port: int) -> None:
    told = (await phone.adb("reverse", "tcp:0", f"tcp:{host_port}")).text.strip()
    assert await ask(phone, "127.0.0.1", int(told), b"free\n") == b"FREE\n"


@pytest.mark.parametrize("place", ["localabstract:x", "tcp:99999", "tcp:-1", "tcp:x"])
async def test_places_that_the_phone_lacks_are_refused(phone: Phone, place: str) -> None:
    assert (await phone.adb("reverse", place, "tcp:9")).code == 1


async def test_a_reversed_port_to_nowhere_is_closed_at_once(phone: Phone) -> None:
    await phone.adb("reverse", "tcp:8080", "tcp:1")
    # The host may tell before or after the first byte.
    with contextlib.suppress(ConnectionRefusedError, BrokenPipeError):
        assert await ask(phone, "127.0.0.1", 8080, b"anybody?\n") == b""


async def test_reversed_ports_end_with_their_connection(phone: Phone, host_port: int) -> None:
    await phone.adb("reverse", "tcp:8080", f"tcp:{host_port}")
    wire = await phone.world.network.connect("127.0.0.1", 8080)
    phone.adbd.drop_all()
    assert await asyncio.wait_for(wire.read(), 60) == b""
    await phone.connect()
    with pytest.raises(ConnectionRefusedError):
        await phone.world.network.connect("127.0.0.1", 8080)


async def test_the_host_s_loopback_is_at_10_0_2_2(phone: Phone, host_port: int) -> None:
    assert await ask(phone, "10.0.2.2", host_port, b"direct\n") == b"DIRECT\n"


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.2.2", "192.0.2.1", "example.org"])
async def test_everything_else_is_refused(phone: Phone, host: str) -> None:
    with pytest.raises(ConnectionRefusedError):
        await phone.world.network.connect(host, 1)


async def test_adb_forward_reaches_a_guest_s_listener(phone: Phone) -> None:
    async def greet(wire: Wire) -> None:
        name = await wire.read()
        await wire.write(b"hello " + name)
        wire.close()

    assert phone.world.network.listen(7000, greet) == 7000
    with pytest.raises(OSError, match="in use"):
        phone.world.network.listen(7000, greet)
    port = int((await phone.adb("forward", "tcp:0", "tcp:7000")).text)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"world")
    assert await asyncio.wait_for(reader.read(), 60) == b"hello world"
    writer.close()


async def test_adb_forward_to_a_silent_port_is_closed(phone: Phone) -> None:
    port = int((await phone.adb("forward", "tcp:0", "tcp:7001")).text)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    assert await asyncio.wait_for(reader.read(), 60) == b""
    writer.close()
