"""What stands around adbd in its tests: the real adb, a phone without a shell, a raw host."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import adbutils

from simphone.adbd import packets
from simphone.adbd.announce import announce
from simphone.adbd.packets import CNXN, HEADER, HEADER_SIZE, OKAY, OPEN, Header
from simphone.adbd.server import Adbd
from simphone.adbd.shell_protocol import RunShell
from simphone.disk import Disk
from simphone.faults.seam import Faults
from simphone.streams import Sink, Source
from simphone.world import World
from tests.ports import even_port

PATIENCE_S = 60.0


@dataclass(frozen=True)
class AdbServer:
    """A private adb server with a home, and so a key, of its own."""

    port: int
    home: Path

    @property
    def env(self) -> dict[str, str]:
        # Without USB to look for, the server is ready at once.
        quiet = {"ADB_LIBUSB": "0", "ADB_MDNS": "0", "ADB_LOCAL_TRANSPORT_MAX_PORT": "5555"}
        place = {"HOME": str(self.home), "ANDROID_ADB_SERVER_PORT": str(self.port)}
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ADB", "ANDROID"))}
        return inherited | quiet | place

    @property
    def public_key(self) -> str:
        return (self.home / ".android" / "adbkey.pub").read_text()


def _answers(port: int) -> bool:
    """Listening is not enough: the key is made between the two."""
    try:
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as asking:
            asking.sendall(b"000chost:version")
            return asking.recv(4) == b"OKAY"
    except OSError:
        return False


@contextmanager
def adb_server(home: Path) -> Iterator[AdbServer]:
    server = AdbServer(even_port(), home)
    command = [adbutils.adb_path(), "nodaemon", "server"]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=server.env, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not _answers(server.port):
            assert process.poll() is None, (home / "server.log").read_text()
            assert time.monotonic() < deadline, "the adb server does not answer"
            time.sleep(0.01)
        yield server
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


@dataclass(frozen=True)
class Ended:
    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return (self.out + self.err).decode()


class TinyShell:
    """Just enough commands to see bytes go through; what a shell is, its own tests say."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()  # a `forever` was ended

    async def run(
        self,
        world: World,
        script: str,
        *,
        stdin: Source,
        stdout: Sink,
        stderr: Sink,
        uid: int,
        tty: bool = False,
        interactive: bool = False,
        interrupts: asyncio.Event | None = None,
    ) -> int:
        name, *args = shlex.split(script) or ["cat"]
        if name == "exit":
            return int(args[0])
        if name == "id":
            await stdout.write(b"%d\n" % uid)
        elif name == "echo":
            await stdout.write(" ".join(args).encode() + b"\n")
        elif name == "complain":
            await stdout.write(b"out\n")
            await stderr.write(b"err\n")
        elif name == "cat":
            while data := await stdin.read():
                await stdout.write(data)
        elif name == "save":
            with world.disk.create(args[0], uid) as file:
                while data := await stdin.read():
                    file.write(data)
        elif name == "show":
            await stdout.write(world.disk.read(args[0], uid))
        elif name == "forever":
            await stdout.write(b"started\n")
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        else:
            await stderr.write(f"/system/bin/sh: {name}: inaccessible or not found\n".encode())
            return 127
        return 0


@dataclass
class Phone:
    """Adbd with a world behind it, and the control that the emulator's process would be."""

    world: World
    adbd: Adbd
    server: AdbServer
    cancelled: asyncio.Event
    reboots: int = 0
    _soon: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def serial(self) -> str:
        return f"emulator-{self.adbd.port - 1}"

    async def adb(self, *args: str, stdin: bytes = b"") -> Ended:
        process = await asyncio.create_subprocess_exec(
            adbutils.adb_path(),
            "-s",
            self.serial,
            *args,
            env=self.server.env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                out, err = await process.communicate(stdin)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return Ended(process.returncode, out, err)

    async def request(self, service: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A service through the server, without the adb client; ConnectionError if refused."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        for text in (f"host:transport:{self.serial}", service):
            writer.write(f"{len(text):04x}{text}".encode())
            if await reader.readexactly(4) != b"OKAY":
                message = (await reader.read())[4:].decode()
                writer.close()
                raise ConnectionError(message)
        return reader, writer

    async def connect(self) -> None:
        """Announce until the server has come: it forgets a lost device only after a while."""
        async with asyncio.timeout(PATIENCE_S):
            while not self.adbd.connected:
                assert await announce(self.server.port, self.adbd.port)
                await asyncio.sleep(0.02)
        assert (await self.adb("wait-for-device")).code == 0

    def reboot(self) -> None:
        self.reboots += 1

    def restart_adbd(self, *, root: bool) -> None:
        self.world.properties.set("service.adb.root", "1" if root else "0")
        task = asyncio.create_task(self._restart())
        self._soon.add(task)
        task.add_done_callback(self._soon.discard)

    def power_off(self) -> None:
        raise AssertionError("adbd never powers the phone off")

    async def _restart(self) -> None:
        self.adbd.drop_all()
        await self.connect()


@asynccontextmanager
async def running_phone(
    folder: Path,
    server: AdbServer,
    *,
    skip_auth: bool = True,
    faults: Faults | None = None,
    run_shell: RunShell | None = None,
) -> AsyncIterator[Phone]:
    """Listening; the server has not been told."""
    for name in ("userdata", "system"):
        (folder / name).mkdir()
    world = World(Disk(folder / "userdata", folder / "system"), {}, faults=faults)
    for name, value in (("name", "sdk_x"), ("model", "Pixel x"), ("device", "emu64x")):
        world.properties.force(f"ro.product.{name}", value)
    world.properties.force("ro.debuggable", "1")
    world.effects.bind(world, {})
    shell = TinyShell()
    adbd = Adbd(world, 0, skip_auth=skip_auth, run_shell=run_shell or shell.run)
    phone = Phone(world, adbd, server, shell.cancelled)
    world.control = phone
    await adbd.start()
    try:
        yield phone
    finally:
        await adbd.stop()


class RawHost:
    """A host that says on the wire whatever a test wants."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, command: int, arg0: int, arg1: int, payload: bytes = b"") -> None:
        self.writer.write(packets.encode(command, arg0, arg1, payload))

    async def receive(self) -> tuple[Header, bytes]:
        async with asyncio.timeout(PATIENCE_S):
            header = Header._make(HEADER.unpack(await self.reader.readexactly(HEADER_SIZE)))
            return header, await self.reader.readexactly(header.length)

    async def introduce(self) -> tuple[Header, bytes]:
        self.send(CNXN, packets.VERSION, packets.MAX_PAYLOAD, b"host::features=shell_v2")
        return await self.receive()

    async def open(self, service: str | bytes) -> int:
        """The phone's number of a stream that is 7 here."""
        await self.introduce()
        name = service.encode() if isinstance(service, str) else service
        self.send(OPEN, 7, 0, name + b"\0")
        header, _ = await self.receive()
        assert header.command == OKAY
        return header.arg0

    async def hung_up_on(self) -> bytes:
        """What came before the phone closed; TimeoutError where it does not."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""


@asynccontextmanager
async def raw_host(port: int) -> AsyncIterator[RawHost]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield RawHost(reader, writer)
    finally:
        writer.transport.abort()
