"""The sync service, versions 1 and 2: files and listings to and from the host.

The end of an answer goes out in the same packet as the data before it. The stock adb server leaves
Nagle's algorithm on towards its clients, so a last packet of 8 bytes would wait there for the
client's delayed acknowledgement: 40 ms for every small file.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Callable

from ..disk import Disk
from ..faults.seam import Faults
from . import guest_files
from .guest_files import Failed
from .stream import Stream

MAX_PATH = 1024
MAX_DATA = 64 * 1024
# The one flag that asks for no compression. Offering none, the phone is not asked for any.
DRY_RUN = 0x80000000

MESSAGE = struct.Struct("<4sI")
FLAGS = struct.Struct("<4sI")
MODE_AND_FLAGS = struct.Struct("<4sII")


async def serve_sync(stream: Stream, disk: Disk, uid: int, faults: Faults) -> None:
    session = Session(stream, disk, uid, faults)
    try:
        while await session.command():
            pass
    except Failed as reason:
        message = os.fsencode(str(reason))
        await stream.write(MESSAGE.pack(b"FAIL", len(message)) + message)
        await session.skip_data()


class Session:
    def __init__(self, stream: Stream, disk: Disk, uid: int, faults: Faults) -> None:
        self._stream = stream
        self._disk = disk
        self._uid = uid
        self._faults = faults
        self._incoming = False  # the host is in the middle of a file
        self._unread = 0  # bytes still to come of a DATA message

    async def command(self) -> bool:
        """Obey the next one; False after the last."""
        name, length = MESSAGE.unpack(await self._stream.exactly(MESSAGE.size))
        if name == b"QUIT":
            return False
        if length > MAX_PATH:
            raise Failed("path too long")
        path = os.fsdecode(await self._stream.exactly(length))
        if "\0" in path:
            raise Failed("invalid path")
        if name in (b"STAT", b"LST2", b"STA2"):
            await self._stat(name, path)
        elif name in (b"LIST", b"LIS2"):
            await self._list(path, v2=name == b"LIS2")
        elif name == b"RECV":
            await self._send(path)
        elif name == b"RCV2":
            _, flags = FLAGS.unpack(await self._stream.exactly(FLAGS.size))
            refuse_compression(flags)
            await self._send(path)
        elif name == b"SEND":
            self._incoming = True
            path, comma, digits = path.rpartition(",")
            if not comma or not re.fullmatch("[0-9]{1,9}", digits):
                raise Failed("missing , in ID_SEND_V1")
            await self._receive(path, int(digits))
        elif name == b"SND2":
            self._incoming = True
            raw = await self._stream.exactly(MODE_AND_FLAGS.size)
            _, mode, flags = MODE_AND_FLAGS.unpack(raw)
            refuse_compression(flags)
            await self._receive(path, mode)
        else:
            raise Failed(f"unknown command {int.from_bytes(name, 'little'):08x}")
        return True

    async def _stat(self, name: bytes, path: str) -> None:
        if name == b"STAT":
            facts = guest_files.stat_v1(self._disk, path, self._uid)
        else:
            follow = name == b"STA2"
            facts = guest_files.stat_v2(self._disk, path, self._uid, follow=follow)
        await self._stream.write(self._faults.at("sync.stat", name + facts))

    async def _list(self, path: str, *, v2: bool) -> None:
        answer = bytearray()
        for name, entry in guest_files.list_folder(self._disk, path, self._uid):
            if len(answer) >= MAX_DATA:
                await self._stream.write(answer)
                answer = bytearray()
            raw = os.fsencode(name)
            answer += (
                b"DNT2" + guest_files.pack_v2(entry) if v2 else b"DENT" + guest_files.pack_v1(entry)
            )
            answer += struct.pack("<I", len(raw)) + raw
        nothing = guest_files.NOTHING_V2 if v2 else guest_files.NOTHING_V1
        await self._stream.write(answer + b"DONE" + nothing + bytes(4))

    async def _send(self, path: str) -> None:
        """A file to the host."""
        with guest_files.open_to_read(self._disk, path, self._uid) as file:
            last = b""  # kept until it is known whether the end follows it
            while data := guest_files.read(file, MAX_DATA):
                if last:
                    await self._stream.write(last)
                last = MESSAGE.pack(b"DATA", len(data)) + data
        await self._stream.write(last + MESSAGE.pack(b"DONE", 0))

    async def _receive(self, path: str, mode: int) -> None:
        """A file or a link from the host, with its mode and time."""
        receive = self._receive_link if stat.S_ISLNK(mode) else self._receive_file
        await receive(path, mode)
        await self._stream.write(MESSAGE.pack(b"OKAY", 0))

    async def _receive_link(self, path: str, mode: int) -> None:
        target = bytearray()

        def keep(data: memoryview) -> None:
            target.extend(data)
            if len(target) > MAX_PATH:
                raise Failed("symlink failed: File name too long")

        modified = await self._each_data(keep)
        # The host sends the target with C's end of a string.
        name = bytes(target).partition(b"\0")[0]
        host = guest_files.link(self._disk, path, self._uid, name)
        os.utime(host, (modified, modified), follow_symlinks=False)

    async def _receive_file(self, path: str, mode: int) -> None:
        fd = guest_files.create(self._disk, path, self._uid, mode)
        whole = False
        try:
            modified = await self._each_data(lambda data: guest_files.write(fd, data))
            os.utime(fd, (modified, modified))
            whole = True
        finally:
            if not whole:
                guest_files.discard(self._disk, path, self._uid, fd)
            os.close(fd)

    async def _each_data(self, take: Callable[[memoryview], None]) -> int:
        """Give every byte of the host's file away as it comes; returns the file's time."""
        while True:
            name, number = MESSAGE.unpack(await self._stream.exactly(MESSAGE.size))
            if name == b"DONE":
                self._incoming = False
                return int(number)
            if name != b"DATA":
                self._incoming = False
                raise Failed("invalid data message")
            self._unread = number
            if number > MAX_DATA:
                raise Failed("oversize data message")
            while self._unread:
                take(await self._part())

    async def _part(self) -> memoryview:
        data = await self._stream.chunk(self._unread)
        if not data:
            raise EOFError("the host left in the middle of a file")
        self._unread -= len(data)
        return data

    async def skip_data(self) -> None:
        """Take what the host sends of a refused file: older ones read the refusal only then."""
        while self._incoming:
            while self._unread:
                await self._part()
            name, self._unread = MESSAGE.unpack(await self._stream.exactly(MESSAGE.size))
            self._incoming = name == b"DATA"


def refuse_compression(flags: int) -> None:
    if flags & ~DRY_RUN:
        raise Failed(f"unknown flags: {flags}")
