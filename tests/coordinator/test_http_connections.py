"""Nobody without a secret can take the workers' places in the coordinator, on real sockets.

Where a time is bounded, the bound is short and the test waits for the server to act; no answer is
required within a time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.coordinator.http_connections import LIMITS, ConnectionLimits
from orchestrator.coordinator.http_server import serving
from orchestrator.coordinator.log_rate import LineRate, bounded_log
from orchestrator.coordinator.messages import TOKEN_HEADER
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import make_app
from orchestrator.metrics.page import MetricsPage
from tests.coordinator.conftest import SECRETS
from tests.coordinator.runs import SETTINGS, a_plan

LONG = ConnectionLimits(head_s=3600.0, stranger_s=3600.0, discard_s=3600.0)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
HALF = b"POST /v1/lease HTTP/1.1\r\nHost: x\r\nX-Half: "


@asynccontextmanager
async def a_server(run: Path, limits: ConnectionLimits) -> AsyncIterator[int]:
    """Its port."""
    async with (
        open_run(run, a_plan(3), SETTINGS) as coordinator,
        serving(make_app(coordinator, SECRETS), "127.0.0.1", 0, coordinator.hang_up, limits) as url,
    ):
        yield int(url.rsplit(":", 1)[1])


class Caller:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, port: int, stack: AsyncExitStack) -> Caller:
        caller = cls(*await asyncio.open_connection("127.0.0.1", port))
        stack.callback(caller.writer.close)
        return caller

    async def ask(self, request: bytes) -> tuple[int, dict[str, object]]:
        """The status and the body of one answer."""
        self.writer.write(request)
        return await self.answer()

    async def answer(self) -> tuple[int, dict[str, object]]:
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        return int(head.split()[1]), json.loads(await self.reader.readexactly(length))

    async def ended(self) -> bytes:
        """What comes until the server has ended the connection."""
        found = b""
        try:
            while piece := await self.reader.read(1 << 16):
                found += piece
        except ConnectionError:
            return found
        return found


async def heard(port: int, stack: AsyncExitStack, device: str) -> Caller:
    """The connection of a worker that has a lease; a busy machine may need more than one, where
    the time is short."""
    while True:
        caller = await Caller.to(port, stack)
        try:
            if (await caller.ask(lease(device)))[0] == 200:
                return caller
        except (ConnectionError, asyncio.IncompleteReadError):
            continue


def lease(device: str) -> bytes:
    body = json.dumps({"worker": "w", "request_id": device}).encode()
    head = f"POST /v1/lease HTTP/1.1\r\nHost: x\r\n{TOKEN_HEADER}: {SECRETS.workers.secret(device)}"
    return f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def test_a_head_that_does_not_end_is_refused_in_time(tmp_path: Path) -> None:
    """Also one that follows an answered request, and a connection that sends nothing."""
    limits = replace(LONG, head_s=0.2)
    async with a_server(tmp_path / "run", limits) as port, AsyncExitStack() as stack:
        slow, silent = await Caller.to(port, stack), await Caller.to(port, stack)
        status, refused = await slow.ask(HALF)
        assert (status, refused) == (
            408, {"error": "no whole head of a request within 0.2 s"}
        )  # fmt: skip
        await slow.ended()
        await silent.ended()
        known = await heard(port, stack, "a")
        assert (await known.ask(HALF))[0] == 408
        await known.ended()


async def test_a_head_is_bounded_in_size_however_it_is_made(tmp_path: Path) -> None:
    """One long line, many short ones, and an address without end."""
    line = b"X-Long: " + b"x" * LIMITS.head_bytes
    lines = b"X-Short: x\r\n" * LIMITS.head_bytes
    path = b"GET /" + b"x" * LIMITS.head_bytes
    async with a_server(tmp_path / "run", LONG) as port, AsyncExitStack() as stack:
        for head in (b"GET / HTTP/1.1\r\n" + line, b"GET / HTTP/1.1\r\n" + lines, path):
            caller = await Caller.to(port, stack)
            assert await caller.ask(head) == (
                431, {"error": f"the request's head is longer than {LIMITS.head_bytes} bytes"}
            )  # fmt: skip
            await caller.ended()
        fitting = lease("a").replace(b"Host: x", b"Host: x\r\nX-Long: " + b"x" * 15_000)
        caller = await Caller.to(port, stack)
        for _ in range(3):
            assert (await caller.ask(fitting))[0] == 200


async def test_a_long_body_before_a_head_does_not_count_as_one(tmp_path: Path) -> None:
    async with a_server(tmp_path / "run", LONG) as port, AsyncExitStack() as stack:
        caller = await Caller.to(port, stack)
        head, body = lease("a").split(b"\r\n\r\n")
        padded = body + b" " * (60_000 - len(body))
        long = head.replace(b"Content-Length: %d" % len(body), b"Content-Length: 60000")
        for _ in range(3):
            assert (await caller.ask(long + b"\r\n\r\n" + padded))[0] == 200


async def test_strangers_have_a_few_places_and_a_worker_loses_none_to_them(tmp_path: Path) -> None:
    """The oldest of them gives way, so that a newcomer is heard however many there are."""
    limits = replace(LONG, strangers=4)
    async with a_server(tmp_path / "run", limits) as port, AsyncExitStack() as stack:
        worker = await Caller.to(port, stack)
        assert (await worker.ask(lease("a")))[0] == 200
        strangers = [await Caller.to(port, stack) for _ in range(40)]
        for stranger in strangers:
            stranger.writer.write(HALF)
        newcomer = await Caller.to(port, stack)
        assert (await newcomer.ask(lease("b")))[0] == 200
        await asyncio.gather(*(stranger.ended() for stranger in strangers[:36]))
        assert (await worker.ask(lease("a")))[0] == 200
        assert await (await Caller.to(port, stack)).ask(HEALTH) == (200, {"ok": True})


async def test_many_workers_that_come_at_once_are_all_heard(tmp_path: Path) -> None:
    """More than there are places: all connect before any of them is accepted."""
    devices = [f"slot-{number:03}.1" for number in range(LIMITS.strangers + 64)]
    async with a_server(tmp_path / "run", LONG) as port, AsyncExitStack() as stack:
        sockets = []
        for device in devices:  # the kernel completes these while the loop does nothing
            sockets.append(socket.create_connection(("127.0.0.1", port)))
            sockets[-1].sendall(lease(device))
        for each in sockets:
            each.setblocking(False)
            caller = Caller(*await asyncio.open_connection(sock=each))
            stack.callback(caller.writer.close)
            assert (await caller.answer())[0] == 200


async def test_a_stranger_that_is_answered_has_its_place_for_a_short_time(tmp_path: Path) -> None:
    limits = replace(LONG, stranger_s=0.5)
    async with a_server(tmp_path / "run", limits) as port, AsyncExitStack() as stack:
        worker = await heard(port, stack, "a")
        await (await Caller.to(port, stack)).ended()
        assert (await worker.ask(lease("a")))[0] == 200  # it is known: its own time is longer


async def test_a_stranger_s_connection_ends_with_its_answer_and_a_worker_s_does_not(
    tmp_path: Path,
) -> None:
    """It says so, and so no scrape is lost on a connection whose time is over."""
    async with a_server(tmp_path / "run", LONG) as port, AsyncExitStack() as stack:
        stranger, worker = await Caller.to(port, stack), await Caller.to(port, stack)
        stranger.writer.write(HEALTH)
        assert b"connection: close\r\n" in await stranger.ended()
        for _ in range(2):
            assert (await worker.ask(lease("a")))[0] == 200
        worker.writer.write(lease("a").replace(b"Host: x", b"Host: x\r\nConnection: close"))
        assert b"connection: close\r\n" in await worker.ended()


async def test_one_sender_has_a_bounded_number_of_connections(tmp_path: Path) -> None:
    """Its oldest one that is idle gives way, and none of anybody else's."""
    limits = replace(LONG, of_one=2)
    async with a_server(tmp_path / "run", limits) as port, AsyncExitStack() as stack:
        other = await Caller.to(port, stack)
        assert (await other.ask(lease("b")))[0] == 200
        own = [await Caller.to(port, stack) for _ in range(3)]
        for caller in own:
            assert (await caller.ask(lease("a")))[0] == 200
        await own[0].ended()
        for caller, device in ((own[1], "a"), (own[2], "a"), (other, "b")):
            assert (await caller.ask(lease(device)))[0] == 200


async def test_what_a_refused_stranger_goes_on_sending_is_thrown_away_for_a_short_time(
    tmp_path: Path,
) -> None:
    limits = replace(LONG, discard_s=0.5)
    head = b"POST /v1/renew HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with a_server(tmp_path / "run", limits) as port, AsyncExitStack() as stack:
        caller = await Caller.to(port, stack)
        assert (await caller.ask(head + b"1\r\nx\r\n"))[0] == 401
        caller.writer.write(b"0\r\n" + b"X-Trailer: x\r\n" * 1000)
        await caller.ended()


async def test_requests_before_the_answer_to_the_first_are_not_collected(tmp_path: Path) -> None:
    limits = replace(LONG, discard_s=0.2)
    async with a_server(tmp_path / "run", limits) as port, AsyncExitStack() as stack:
        caller = await Caller.to(port, stack)
        caller.writer.write(HEALTH * 500)
        assert await caller.answer() == (200, {"ok": True})
        assert await caller.ended() == b""


async def test_what_is_no_request_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with a_server(tmp_path / "run", LONG) as port, AsyncExitStack() as stack:
        status, refused = await (await Caller.to(port, stack)).ask(b"\x16\x03\x01 hello\r\n\r\n")
        assert status == 400
        assert list(refused) == ["error"]


async def test_the_page_of_metrics_has_the_same_bounds() -> None:
    async with MetricsPage().served("127.0.0.1", 0) as url, AsyncExitStack() as stack:
        port = int(url.split(":")[2].split("/")[0])
        caller = await Caller.to(port, stack)
        assert (await caller.ask(b"GET / HTTP/1.1\r\nX: " + b"x" * (1 << 20)))[0] == 431


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def a_record(text: str) -> logging.LogRecord:
    return logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, "%s", (text,), None)


def test_a_log_has_a_bounded_number_of_lines_and_says_how_many_were_left_out() -> None:
    clock = Clock()
    rate = LineRate(3, 60.0, clock)
    assert [rate.filter(a_record("x")) for _ in range(1000)] == [True] * 3 + [False] * 997
    clock.now = 60.0
    later = a_record("y")
    assert rate.filter(later)
    assert later.getMessage() == "y (997 lines before it left out)"
    assert rate.left_out == 0


def test_at_the_end_the_log_says_what_was_left_out_last(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = logging.getLogger("uvicorn.error")
    with bounded_log():
        for _ in range(1000):
            logger.warning("Invalid HTTP request received.")
    logger.warning("after it")
    said = [record.getMessage() for record in caplog.records]
    assert said == ["Invalid HTTP request received."] * 20 + ["980 lines left out", "after it"]
