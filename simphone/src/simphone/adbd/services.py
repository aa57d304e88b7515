"""Who answers when the host opens a service? Names as adbd knows them; all others are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..processes import ROOT, SHELL
from .forward import Reverse, port_of
from .network import join
from .shell_protocol import RunShell, ShellRequest, parse_request, serve_shell
from .stream import Stream
from .sync import serve_sync
from .transport import Connection, Handler

if TYPE_CHECKING:
    from ..world import World

# `adb exec-in` closes right after its last byte, before the command has read it; so may a program
# on the host that speaks through a forwarded port.
LINGER_S = 5.0
BLOCK = bytes(64 * 1024)


class Services:
    def __init__(self, world: World, run_shell: RunShell) -> None:
        self._world = world
        self._network = world.network
        self._run_shell = run_shell
        self._reverses: dict[Connection, Reverse] = {}
        # Services that print a line and end; what is said, and whether adbd restarts as root.
        self._spoken: dict[str, Callable[[str], tuple[str, bool | None]]] = {
            "root": self._root,
            "unroot": self._unroot,
            "tcpip": self._tcpip,
            "usb": self._usb,
            "remount": self._remount,
            "disable-verity": self._verity,
            "enable-verity": self._verity,
        }

    @property
    def uid(self) -> int:
        """Whom adbd runs as."""
        return ROOT if self._world.properties.get("service.adb.root") == "1" else SHELL

    def find(self, service: str, connection: Connection) -> Handler | None:
        """None where nobody answers."""
        name, _, argument = service.partition(":")
        kind = name.partition(",")[0]
        if kind == "shell" and ":" in service:
            return self._shell(parse_request(service))
        if kind == "exec" and argument:
            return self._exec(ShellRequest(argument))
        if service == "sync:":
            world = self._world
            return lambda stream: serve_sync(stream, world.disk, self.uid, world.faults)
        if name in self._spoken:
            return self._speak(name, argument)
        if name == "reboot":
            return self._reboot
        if service == "reconnect":
            return self._reconnect
        if name == "reverse":
            return self._reverse(connection, argument)
        if name == "tcp":
            return self._dial(service)
        if name in ("source", "sink") and re.fullmatch("[0-9]{1,15}", argument):
            return self._flood(int(argument)) if name == "source" else self._swallow(int(argument))
        return None

    def lost(self, connection: Connection) -> None:
        """What was reached through this connection is not reached any more."""
        reverse = self._reverses.pop(connection, None)
        if reverse is not None:
            reverse.close()

    def _shell(self, request: ShellRequest) -> Handler:
        async def serve(stream: Stream) -> None:
            await self._world.noise.lag()
            await serve_shell(stream, request, self._world, self._run_shell, self.uid)

        return serve

    def _exec(self, request: ShellRequest) -> Handler:
        shell = self._shell(request)

        async def serve(stream: Stream) -> None:
            stream.linger_s = LINGER_S
            await shell(stream)

        return serve

    def _speak(self, name: str, argument: str) -> Handler:
        async def serve(stream: Stream) -> None:
            text, restart_as_root = self._spoken[name](argument)
            await stream.write(text.encode())
            await stream.flushed()
            if restart_as_root is not None:
                self._world.control.restart_adbd(root=restart_as_root)

        return serve

    def _root(self, argument: str) -> tuple[str, bool | None]:
        if self.uid == ROOT:
            return "adbd is already running as root\n", None
        if self._world.properties.get("ro.debuggable") != "1":
            return "adbd cannot run as root in production builds\n", None
        self._world.properties.set("service.adb.root", "1")
        return "restarting adbd as root\n", True

    def _unroot(self, argument: str) -> tuple[str, bool | None]:
        if self.uid != ROOT:
            return "adbd not running as root\n", None
        self._world.properties.set("service.adb.root", "0")
        return "restarting adbd as non root\n", False

    def _tcpip(self, argument: str) -> tuple[str, bool | None]:
        if not port_of(f"tcp:{argument}"):
            return "invalid port\n", None
        self._world.properties.set("service.adb.tcp.port", argument)
        return f"restarting in TCP mode port: {argument}\n", self.uid == ROOT

    def _usb(self, argument: str) -> tuple[str, bool | None]:
        self._world.properties.set("service.adb.tcp.port", "0")
        return "restarting in USB mode\n", self.uid == ROOT

    def _remount(self, argument: str) -> tuple[str, bool | None]:
        if self.uid != ROOT:
            return 'Not running as root. Try "adb root" first.\n', None
        return "Device must be bootloader unlocked\nremount failed\n", None

    def _verity(self, argument: str) -> tuple[str, bool | None]:
        if self.uid != ROOT:
            return 'verity cannot be changed by a non-root user. Try "adb root" first.\n', None
        return "Device is locked. Please unlock the device first\n", None

    async def _reboot(self, stream: Stream) -> None:
        self._world.control.reboot()

    async def _reconnect(self, stream: Stream) -> None:
        await stream.write(b"done")
        await stream.flushed()
        stream.connection.drop()

    def _reverse(self, connection: Connection, command: str) -> Handler:
        async def serve(stream: Stream) -> None:
            reverse = self._reverses.get(connection)
            if reverse is None:
                label = f"host-{len(self._reverses) + 1}"
                reverse = Reverse(self._network, connection, label)
                self._reverses[connection] = reverse
            await stream.write(reverse.answer(command))

        return serve

    def _dial(self, place: str) -> Handler | None:
        port = port_of(place)
        if port is None or not self._network.listening(port):
            return None

        async def serve(stream: Stream) -> None:
            stream.linger_s = LINGER_S
            try:
                wire = await self._network.connect("127.0.0.1", port)
            except ConnectionRefusedError as error:
                raise BrokenPipeError(str(error)) from error
            await join(stream, wire)

        return serve

    def _flood(self, size: int) -> Handler:
        async def serve(stream: Stream) -> None:
            for start in range(0, size, len(BLOCK)):
                await stream.write(BLOCK[: size - start])

        return serve

    def _swallow(self, size: int) -> Handler:
        async def serve(stream: Stream) -> None:
            left = size
            while left and (data := await stream.chunk(left)):
                left -= len(data)

        return serve
