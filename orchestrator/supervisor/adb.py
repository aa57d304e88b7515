"""Talks to the private adb server and to the emulator's console; checks that ports are free."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from base64 import b64encode
from pathlib import Path

from . import SupervisorError

VERSION_REQUEST = b"000chost:version"
TOKEN_NAME = ".emulator_console_auth_token"

# No scan of ports 5555-5585, no USB, no mDNS: the server knows this device's emulator and none of
# the user's devices. Nor may a client of another adb version kill it. ADB_EMU=0 would end the scan
# too, but also the reconnection to an emulator whose connection a snapshot load dropped.
SERVER_ENV = {
    "ADB_LOCAL_TRANSPORT_MAX_PORT": "5554",
    "ADB_USB": "0",
    "ADB_MDNS": "0",
    "ADB_REJECT_KILL_SERVER": "1",
}


def write_console_token(home: Path) -> str:
    """Write the token that the console will require; an empty file would switch the check off."""
    token = b64encode(secrets.token_bytes(12)).decode()
    write_private(home / TOKEN_NAME, token)
    return token


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, and that is whole or absent."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(text)
    new.replace(path)


async def server_answers(port: int) -> bool:
    """Whether an adb server answers on the port."""
    try:
        return (await _exchange(port, VERSION_REQUEST, 1)).startswith(b"OKAY")
    except (OSError, TimeoutError):
        return False


async def is_silent(port: int, request: bytes = b"") -> bool:
    """Whether a listener takes a connection, or keeps it waiting, and says nothing for a second.
    One that refuses it, or hangs up, is not silent."""
    try:
        await _exchange(port, request, 1)
    except TimeoutError:
        return True
    except OSError:
        return False
    return False


async def announce(server_port: int, emulator_port: int) -> None:
    """Register an emulator with the server, as the emulator itself does once at its start."""
    request = f"host:emulator:{emulator_port}"
    await _exchange(server_port, f"{len(request):04x}{request}".encode(), 1, answered=False)


async def console_kill(port: int, token: str) -> bool:
    """Ask the emulator to end itself; False if its console does not answer."""
    try:
        reply = await _exchange(port, f"auth {token}\nkill\n".encode(), 3, until=b"bye bye")
    except (OSError, TimeoutError):
        return False
    return b"bye bye" in reply


async def _exchange(
    port: int, request: bytes, seconds: float, *, until: bytes = b"", answered: bool = True
) -> bytes:
    async with asyncio.timeout(seconds):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(request)
            await writer.drain()
            reply = b""
            while answered and (not reply or until not in reply) and len(reply) < 65536:
                piece = await reader.read(4096)
                if not piece:
                    break
                reply += piece
            return reply
        finally:
            writer.close()


def require_free(ports: dict[str, int]) -> None:
    """SupervisorError where a listener could not be bound on loopback now."""
    for name, port in ports.items():
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                text = f"the {name} port {port} is in use; end its owner or name another"
                raise SupervisorError(text) from error
