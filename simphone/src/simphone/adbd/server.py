"""Where adb reaches the phone: a port on loopback, and the connections made to it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from .auth import Challenge
from .handshake import Reception
from .services import Services
from .shell_protocol import RunShell
from .transport import Connection, Handler

if TYPE_CHECKING:
    from ..world import World

log = logging.getLogger(__name__)

# No compression, no binder shortcut (abb), one packet in flight (no delayed_ack).
FEATURES = (
    "shell_v2",
    "cmd",
    "stat_v2",
    "ls_v2",
    "fixed_push_mkdir",
    "fixed_push_symlink_timestamp",
    "apex",
    "sendrecv_v2",
)
# One adb server makes one; each costs a buffer.
MAX_CONNECTIONS = 32
INTRODUCED = ("ro.product.name", "ro.product.model", "ro.product.device")


class Adbd:
    """Answers adb while started, enabled and not paused."""

    def __init__(self, world: World, port: int, *, skip_auth: bool, run_shell: RunShell) -> None:
        self.port = port
        self._world = world
        self._skip_auth = skip_auth
        self._services = Services(world, run_shell)
        self._server: asyncio.Server | None = None
        self._connections: dict[Connection, None] = {}  # the oldest first
        self._leaving: set[asyncio.Task[None]] = set()
        self._paused = False
        self._next = Reception.DEVICE  # of whoever connects next
        self.enabled = True

    @property
    def connected(self) -> bool:
        """A host is there, whether it may come in or not."""
        return any(connection.introduced for connection in self._connections)

    async def start(self) -> None:
        """OSError where the port is taken; port 0 becomes whichever is free."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self.drop_all()
        await self._world.network.stop()
        await self.settled()
        await asyncio.sleep(0)  # a dropped socket is closed on the loop's next turn

    def drop_all(self) -> None:
        """The host sees the device go; it comes back with a new transport."""
        for connection in tuple(self._connections):
            self._leave(connection)
            connection.drop()

    def turn_away(self, reception: Reception) -> None:
        """The host sees the device go, and is received so when it connects again."""
        self._next = reception
        self.drop_all()

    async def settled(self) -> None:
        """Wait until nothing runs on behalf of dropped connections."""
        while self._leaving:
            await asyncio.wait(tuple(self._leaving))

    def pause(self) -> None:
        """The machine stands still: hosts may connect and talk, nobody answers."""
        self._paused = True
        for connection in self._connections:
            connection.hold()

    def resume(self) -> None:
        self._paused = False
        self._release()

    def enable(self, on: bool) -> None:
        """USB debugging. Off, hosts lose the device; the port is the emulator's and stays, but
        whoever connects to it is not answered until it is on again."""
        self.enabled = on
        if on:
            self._release()
        else:
            self.drop_all()

    def _release(self) -> None:
        if self.enabled and not self._paused:
            for connection in self._connections:
                connection.release()

    def _accept(self) -> Connection:
        connection = Connection(self, held=self._paused or not self.enabled)
        self._connections[connection] = None
        return connection

    # -- what a connection asks

    def welcome(self) -> Reception:
        if len(self._connections) > MAX_CONNECTIONS:
            # The newcomer has said nothing yet either, so there always is one.
            silent = next(known for known in self._connections if not known.introduced)
            del self._connections[silent]
            silent.drop(f"there are {MAX_CONNECTIONS} connections already")
        reception, self._next = self._next, Reception.DEVICE
        return self._world.faults.at("adbd.accept", reception)

    def banner(self) -> bytes:
        facts = [f"{name}={self._world.properties.get(name)};" for name in INTRODUCED]
        return f"device::{''.join(facts)}features={','.join(FEATURES)}".encode()

    def challenge(self, reception: Reception) -> Challenge | None:
        if reception is Reception.UNAUTHORIZED:
            return Challenge(None)
        return None if self._skip_auth else Challenge(self._world.disk)

    def service(self, name: str, connection: Connection) -> Handler | None:
        try:
            name = self._world.faults.at("adbd.service", name)
        except OSError as fault:
            log.warning("adbd: the service %.100r is refused: %s", name, fault)
            return None
        return self._services.find(name, connection)

    def lost(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        self._services.lost(connection)
        self._leave(connection)

    def _leave(self, connection: Connection) -> None:
        for task in connection.tasks():
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)
