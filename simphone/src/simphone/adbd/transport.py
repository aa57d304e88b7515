"""What one connection from an adb server may say, and what the phone answers to it.

Whatever is not adb's protocol ends the connection with one line in the log: the bytes after a
broken packet mean nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Protocol

from . import packets
from .auth import Challenge
from .framing import Assembler, Payload
from .handshake import Answer, Handshake, Reception, State
from .packets import AUTH, CLSE, CNXN, OKAY, OPEN, WRTE, Header, Malformed
from .stream import Stream

log = logging.getLogger(__name__)

# How long a peer may take to introduce itself, or to answer a token.
HANDSHAKE_S = 10.0
# How long the host may take to reach where a reverse connection leads.
REVERSE_OPEN_S = 10.0
MAX_STREAMS = 1024
# Below this a packet is worth copying into one write.
SMALL = 16 * 1024
# What may wait in the socket before the peer is no longer listened to.
UNSENT = 4 * packets.MAX_PAYLOAD

Handler = Callable[[Stream], Awaitable[None]]


class Phone(Protocol):
    """What a connection needs to know of the phone behind it."""

    def welcome(self) -> Reception:
        """How the peer is received; OSError where it is to be dropped."""
        ...

    def banner(self) -> bytes:
        """How the phone introduces itself."""
        ...

    def challenge(self, reception: Reception) -> Challenge | None:
        """None where every host is welcome."""
        ...

    def service(self, name: str, connection: Connection) -> Handler | None:
        """Who answers this service; None where nobody does."""
        ...

    def lost(self, connection: Connection) -> None: ...


class Connection(asyncio.BufferedProtocol):
    def __init__(self, phone: Phone, *, held: bool = False) -> None:
        self.peer = "?"
        self._phone = phone
        self._handshake = Handshake(phone.banner, lambda: phone.challenge(self._reception))
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._held: list[Payload] | None = [] if held else None  # what is said standing still
        self._congested = False  # the peer is slow to take what it is sent
        self._reception = Reception.DEVICE
        self._streams: dict[int, Stream] = {}
        self._serving: dict[int, asyncio.Task[None]] = {}
        self._last_id = 0
        self._assembler = Assembler()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.peer = "{}:{}".format(*transport.get_extra_info("peername", ("?", 0))[:2])
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport.set_write_buffer_limits(high=UNSENT)
        try:
            self._reception = self._phone.welcome()
        except OSError as fault:
            self.drop(str(fault))
        self._listen()
        self._set_deadline()

    def connection_lost(self, reason: Exception | None) -> None:
        self._transport = None
        self._set_deadline()
        self._end_streams()
        self._phone.lost(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._assembler.room()

    def buffer_updated(self, count: int) -> None:
        try:
            for header, payload in self._assembler.packets(count):
                self._packet(header, payload)
        except Malformed as reason:
            self.drop(str(reason))

    def pause_writing(self) -> None:
        self._congested = True
        self._listen()

    def resume_writing(self) -> None:
        self._congested = False
        self._listen()

    def _listen(self) -> None:
        """Hear the peer only while the phone runs and the peer takes what it is sent."""
        if self._transport is None:
            return
        if self._held is not None or self._congested:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    @property
    def introduced(self) -> bool:
        return not self._gone() and self._handshake.state is not State.UNKNOWN

    @property
    def max_payload(self) -> int:
        return self._handshake.max_payload

    def _gone(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def _mute(self) -> bool:
        """Nothing is answered, ever."""
        return self._reception is Reception.OFFLINE

    def tasks(self) -> tuple[asyncio.Task[None], ...]:
        """What runs on behalf of this host."""
        return tuple(self._serving.values())

    def hold(self) -> None:
        """The phone stands still: nothing is heard, nothing is said."""
        if self._held is None:
            self._held = []
            self._set_deadline()
            self._listen()

    def release(self) -> None:
        held, self._held = self._held, None
        if self._transport is None or held is None:
            return
        for data in held:
            self._transport.write(data)
        self._set_deadline()
        self._listen()

    def drop(self, reason: str | None = None) -> None:
        """End the connection now; a reason is logged, an intended drop has none."""
        if self._transport is None or self._gone():
            return
        if reason is not None:
            log.warning("adbd: dropped %s: %s", self.peer, reason)
        self._transport.abort()
        self._end_streams()

    async def open(self, destination: str) -> Stream:
        """A stream to where the host has agreed to lead; ConnectionRefusedError if it does not."""
        if self._gone() or self._handshake.state is not State.ONLINE:
            raise ConnectionRefusedError("the host is not connected")
        stream = Stream(self, self._next_id(), 0)
        self._streams[stream.local] = stream
        self.send(OPEN, stream.local, 0, os.fsencode(destination) + b"\0")
        try:
            async with asyncio.timeout(REVERSE_OPEN_S):
                accepted = await stream.answered()
        except TimeoutError:
            accepted = False
        if not accepted:
            self.forget(stream)
            raise ConnectionRefusedError(f"the host does not lead to {destination}")
        return stream

    def send(self, command: int, arg0: int, arg1: int, payload: Payload = b"") -> None:
        if self._transport is None or self._transport.is_closing():
            return
        summed = self._handshake.summed or command in (CNXN, AUTH)
        header = packets.encode_header(command, arg0, arg1, payload, summed=summed)
        parts = (header + payload,) if len(payload) <= SMALL else (header, payload)
        if self._held is not None:
            self._held.extend(parts)
            return
        for part in parts:
            self._transport.write(part)

    def forget(self, stream: Stream) -> None:
        self._streams.pop(stream.local, None)

    def _packet(self, header: Header, payload: Payload) -> None:
        if self._gone() or self._mute():
            return
        command, handshake = header.command, self._handshake
        old = header.arg0 < packets.VERSION if command == CNXN else handshake.summed
        if old and header.checksum != packets.checksum(payload):
            raise Malformed(f"{header.name} with a wrong checksum")
        if command == CNXN:
            self._end_streams()
            self._reply(handshake.introduced(header, payload))
        elif command == AUTH:
            self._reply(handshake.answered(header, payload))
        elif handshake.state is not State.ONLINE:
            raise Malformed(f"{header.name} from a peer that {handshake.state.value}")
        elif command == OPEN:
            self._opened(header.arg0, payload)
        elif command in (OKAY, WRTE, CLSE):
            self._continued(header, payload)
        else:
            raise Malformed(f"{header.name} is not offered")

    def _reply(self, answer: Answer | None) -> None:
        self._assembler.limit = self._handshake.limit
        self._set_deadline()
        if answer is not None:
            self.send(*answer)

    def _opened(self, remote: int, payload: Payload) -> None:
        if remote == 0:
            raise Malformed("OPEN without a stream")
        name = os.fsdecode(bytes(payload).rstrip(b"\0"))
        # A service may go on for a while after its stream.
        crowded = max(len(self._streams), len(self._serving)) >= MAX_STREAMS
        handler = None if crowded else self._phone.service(name, self)
        if handler is None:
            self.send(CLSE, 0, remote)
            return
        stream = Stream(self, self._next_id(), remote)
        self._streams[stream.local] = stream
        self.send(OKAY, stream.local, remote)
        stream.ready()
        task = asyncio.get_running_loop().create_task(self._serve(stream, handler, name))
        self._serving[stream.local] = task
        task.add_done_callback(lambda _: self._serving.pop(stream.local))

    async def _serve(self, stream: Stream, handler: Handler, name: str) -> None:
        try:
            await handler(stream)
        except (BrokenPipeError, EOFError) as reason:
            # The host left in the middle, which is its right.
            log.debug("adbd: %.100r: %s", name, reason)
        except Exception:
            log.exception("adbd: the service %.100r failed", name)
        finally:
            stream.close()

    def _continued(self, header: Header, payload: Payload) -> None:
        command, remote, local = header[:3]
        stream = self._streams.get(local)
        # A packet for a stream that the phone has just closed is only late.
        if stream is None or stream.remote not in (0, remote):
            return
        if command == CLSE:
            self._closed(stream)
        elif command == OKAY and remote:
            stream.remote = remote
            stream.ready()
        elif command == WRTE and stream.remote and not stream.receive(payload):
            raise Malformed("WRTE before the OKAY of the last one")

    def _closed(self, stream: Stream) -> None:
        self.forget(stream)
        stream.end()
        if stream.remote:
            self.send(CLSE, stream.local, stream.remote)
        task = self._serving.get(stream.local)
        if task is None:
            return
        if stream.linger_s:
            asyncio.get_running_loop().call_later(stream.linger_s, task.cancel)
        else:
            task.cancel()

    def _end_streams(self) -> None:
        for stream in self._streams.values():
            stream.end()
        self._streams.clear()
        for task in self._serving.values():
            task.cancel()

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _set_deadline(self) -> None:
        """The peer has so long for its turn, counted from now."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        answerable = self._held is None and not self._mute() and not self._gone()
        if self._handshake.waiting and answerable:
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(HANDSHAKE_S, self._expire)

    def _expire(self) -> None:
        self.drop(f"a peer that {self._handshake.state.value} for {HANDSHAKE_S:g} s")
