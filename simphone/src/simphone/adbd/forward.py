"""What does `adb reverse` ask for? Ports of the phone that lead to the host, through adb.

`adb forward`, the other way, is the service `tcp:`: the host listens and the phone is dialled.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .network import GuestNetwork, Wire

if TYPE_CHECKING:
    from .transport import Connection


def port_of(place: str) -> int | None:
    """The port in `tcp:N`; None for every other kind of place."""
    kind, _, number = place.partition(":")
    if kind != "tcp" or not (number.isascii() and number.isdecimal()) or len(number) > 5:
        return None
    return int(number) if int(number) < 65536 else None


class Refused(Exception):
    """What adb is told after FAIL."""


class Reverse:
    """The ports of the phone that lead to the host through one adb connection."""

    def __init__(self, network: GuestNetwork, connection: Connection, label: str) -> None:
        self._network = network
        self._connection = connection
        self._label = label
        self._places: dict[int, str] = {}

    def answer(self, command: str) -> bytes:
        """adb's reply to what follows `reverse:`."""
        try:
            return self._obey(command)
        except Refused as reason:
            return b"FAIL" + _counted(str(reason))

    def close(self) -> None:
        for port in self._places:
            self._network.unlisten(port)
        self._places.clear()

    def _obey(self, command: str) -> bytes:
        verb, _, rest = command.partition(":")
        if verb == "list-forward":
            lines = (f"{self._label} tcp:{p} {place}\n" for p, place in self._places.items())
            return _counted("".join(lines))
        if verb == "killforward-all":
            self.close()
            return b"OKAY"
        if verb == "killforward":
            return self._remove(rest)
        if verb == "forward":
            return self._add(rest)
        raise Refused(f"unknown reverse command: {verb}")

    def _remove(self, place: str) -> bytes:
        port = port_of(place)
        if port is None or port not in self._places:
            raise Refused(f"listener '{place}' not found")
        self._network.unlisten(port)
        del self._places[port]
        return b"OKAY"

    def _add(self, rest: str) -> bytes:
        rebind = not rest.startswith("norebind:")
        local, semicolon, remote = rest.removeprefix("norebind:").partition(";")
        port = port_of(local)
        if not semicolon or not remote:
            raise Refused(f"bad forward: {rest}")
        if port is None:
            raise Refused(f"cannot bind listener: unknown socket specification '{local}'")
        if port in self._places:
            if not rebind:
                raise Refused("cannot rebind existing socket")
            self._places[port] = remote
            return b"OKAY"
        try:
            bound = self._network.bind(port, lambda: self._dial(bound))
        except OSError as error:
            raise Refused(f"cannot bind listener: {error}") from error
        self._places[bound] = remote
        return b"OKAY" + (_counted(str(bound)) if port == 0 else b"")

    async def _dial(self, port: int) -> Wire:
        return await self._connection.open(self._places[port])


def _counted(text: str) -> bytes:
    data = os.fsencode(text)[:0xFFFF]
    return f"{len(data):04x}".encode() + data
