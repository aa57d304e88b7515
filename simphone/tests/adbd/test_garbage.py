"""Nothing that is not adb can hurt the phone: one line in the log, and the next host is served."""

from __future__ import annotations

import asyncio
import logging
import struct
from contextlib import AsyncExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simphone.adbd import packets, server, transport
from simphone.adbd.packets import AUTH, CLSE, CNXN, NAMES, OPEN, STLS, WRTE
from tests.adbd.stand_in import Phone, raw_host

fuzzed = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


async def alive(phone: Phone) -> None:
    async with raw_host(phone.adbd.port) as host:
        header, banner = await host.introduce()
        assert header.command == CNXN
        assert banner.startswith(b"device::")


async def test_a_peer_that_says_nothing_is_dropped(
    phone: Phone, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(transport, "HANDSHAKE_S", 0.02)
    async with raw_host(phone.adbd.port) as host:
        assert await host.hung_up_on() == b""
    assert len(caplog.records) == 1


async def test_a_flood_of_silent_peers_costs_the_oldest_of_them_their_place(
    phone: Phone, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncExitStack() as flood, raw_host(phone.adbd.port) as served:
        await served.introduce()
        silent = [
            await flood.enter_async_context(raw_host(phone.adbd.port))
            for _ in range(server.MAX_CONNECTIONS + 20)
        ]
        await alive(phone)
        assert await silent[0].hung_up_on() == b""
        assert not served.reader.at_eof()
        assert len(caplog.records) >= 20


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        struct.pack("<6I", CNXN, packets.VERSION, 4096, 10_000_000, 0, CNXN ^ packets.WORD),
        struct.pack("<6I", CNXN, packets.VERSION, 4096, 0xFFFFFFFF, 0, CNXN ^ packets.WORD),
        packets.encode(CNXN, 0, 0, b"host::"),
        packets.encode(CNXN, packets.VERSION, 0, b"host::"),
        packets.encode(CNXN, packets.VERSION, 4096, b"device::"),
        packets.encode(CNXN, packets.VERSION_MIN, 4096, b"host::", summed=False),
        packets.encode(STLS, packets.VERSION, 0),
        packets.encode(OPEN, 1, 0, b"shell:id\0"),
        packets.encode(AUTH, 2, 0, bytes(256)),
    ],
)
async def test_what_is_not_adb_ends_the_connection_with_one_line(
    phone: Phone, caplog: pytest.LogCaptureFixture, said: bytes
) -> None:
    async with raw_host(phone.adbd.port) as host:
        host.writer.write(said)
        assert await host.hung_up_on() == b""
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize(
    "said",
    [
        struct.pack("<6I", WRTE, 7, 1, 10_000_000, 0, WRTE ^ packets.WORD),
        packets.encode(STLS, packets.VERSION, 0),
        packets.encode(OPEN, 0, 0, b"shell:id\0"),
        packets.encode(AUTH, 3, 0, b"key"),
    ],
)
async def test_a_known_host_that_breaks_the_rules_is_dropped_too(
    phone: Phone, caplog: pytest.LogCaptureFixture, said: bytes
) -> None:
    async with raw_host(phone.adbd.port) as host:
        await host.open("shell:forever")
        await host.receive()
        host.writer.write(said)
        await host.hung_up_on()
    assert len(caplog.records) == 1
    await asyncio.wait_for(phone.cancelled.wait(), 60)


async def test_a_host_that_does_not_wait_for_its_okay_is_dropped(phone: Phone) -> None:
    async with raw_host(phone.adbd.port) as host:
        stream = await host.open("shell:forever")
        for _ in range(3):
            host.send(WRTE, 7, stream, bytes(packets.MAX_PAYLOAD))
        await host.hung_up_on()
    await alive(phone)


@pytest.mark.parametrize(
    "service",
    [
        b"source:" + b"9" * 5000,
        b"sink:\xd9\xa3",
        b"tcp:" + b"9" * 5000,
        b"\xff\xfe",
        b"",
        b":",
        b"shell",
        b"exec:",
        b"sync",
        b"a" * packets.MAX_PAYLOAD,
    ],
)
async def test_a_service_without_sense_is_refused(phone: Phone, service: bytes) -> None:
    async with raw_host(phone.adbd.port) as host:
        await host.introduce()
        host.send(OPEN, 7, 0, service + b"\0" * (len(service) < packets.MAX_PAYLOAD))
        header, _ = await host.receive()
        assert (header.command, header.arg0, header.arg1) == (CLSE, 0, 7)


async def test_names_that_are_no_text_survive_to_the_answer(phone: Phone) -> None:
    async with raw_host(phone.adbd.port) as host:
        await host.open(b"reverse:forward:\xff;tcp:1")
        _, answer = await host.receive()
        assert answer.startswith(b"FAIL")
        assert b"'\xff'" in answer


@fuzzed
@given(said=st.binary(max_size=400))
async def test_garbage_never_hangs_or_harms(phone: Phone, said: bytes) -> None:
    async with raw_host(phone.adbd.port) as host:
        host.writer.write(said)
        host.writer.write_eof()
        await host.hung_up_on()
    await alive(phone)


@fuzzed
@given(
    said=st.lists(
        st.tuples(
            st.sampled_from(sorted(NAMES)),
            st.integers(0, 9),
            st.integers(0, 9),
            st.one_of(
                st.binary(max_size=60),
                st.sampled_from(
                    [b"sync:\0", b"shell:cat\0", b"shell,v2:cat\0", b"reverse:forward:x"]
                ),
            ),
        ),
        max_size=12,
    ),
    cut=st.integers(0, 30),
)
async def test_any_packets_in_any_order_never_hang_or_harm(
    phone: Phone, said: list[tuple[int, int, int, bytes]], cut: int
) -> None:
    async with raw_host(phone.adbd.port) as host:
        await host.introduce()
        data = b"".join(packets.encode(*packet) for packet in said)
        host.writer.write(data[: len(data) - cut])
        host.writer.write_eof()
        await host.hung_up_on()
    await alive(phone)
