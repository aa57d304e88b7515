"""The supervisor's command line and main loop: serves requests and ends with its emulator."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from . import SupervisorError
from .adb import write_private
from .children import Reaper, adopt_orphans
from .device import TAIL_LIMIT, SupervisedDevice, SupervisorSettings
from .logs import keep_short
from .server import ControlRequest, ControlResponse, as_json, refused, serve, token_matches


@dataclass(frozen=True)
class Access:
    """How the supervisor is reached, and when it ends."""

    port: int
    token_file: Path
    tied: bool
    # How long the supervisor stays after its emulator ended, for a worker to read the exit code:
    # only that tells an emulator that was killed from one that was shut down from inside.
    linger_s: float


def port_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text[:6]) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


def parse(arguments: list[str]) -> tuple[SupervisorSettings, Access]:
    own, _, emulator = "\0".join(arguments).partition("\0--\0")
    parser = argparse.ArgumentParser(
        prog="python -m orchestrator.supervisor",
        usage="%(prog)s [options] -- EMULATOR [ARGUMENT ...]",
        description="Run an emulator from a fresh copy of a golden AVD, with its own adb server.",
    )
    parser.add_argument("--golden", type=Path, required=True, help="folder of NAME.ini, NAME.avd/")
    parser.add_argument("--avd-home", type=Path, required=True, help="where the copy stands")
    parser.add_argument("--avd", required=True, help="the AVD's name")
    parser.add_argument("--home", type=Path, required=True, help="the device's own HOME")
    parser.add_argument("--adb", required=True, help="the adb binary")
    parser.add_argument(
        "--adb-port", type=port_number, required=True, help="the private adb server's port"
    )
    parser.add_argument(
        "--console-port", type=port_number, required=True, help="even, as the emulator's"
    )
    parser.add_argument("--control-port", type=port_number, default=0, help="0 picks a free one")
    parser.add_argument("--token-file", type=Path, required=True, help="made if absent")
    parser.add_argument("--snapshot", help="the snapshot to start from; none is a cold boot")
    parser.add_argument("--log", type=Path, required=True, help="the emulator's output")
    parser.add_argument("--grace", type=float, default=20.0, help="seconds a console kill may take")
    parser.add_argument(
        "--tied",
        action="store_true",
        help="end when stdin does: with the process that holds its other end",
    )
    parser.add_argument(
        "--linger", type=float, default=0.0, help="seconds to stay for /facts after its end"
    )
    given = vars(parser.parse_args([word for word in own.split("\0") if word]))
    console_port = given["console_port"]
    if not emulator:
        parser.error("name the emulator's command after --")
    if console_port % 2 or not 1024 <= console_port < 65535:
        parser.error(f"the console port must be an even number from 1024, not {console_port}")
    names = ("control_port", "token_file", "tied", "linger")
    access = Access(*(given.pop(name) for name in names))
    # The other options have the names of the settings.
    return SupervisorSettings(emulator=tuple(emulator.split("\0")), **given), access


def control_token(path: Path) -> str:
    """The token in this file. If there is none, a new one, which only the owner can read."""
    try:
        if path.exists():
            token = path.read_text(encoding="ascii").strip()
            if len(token) < 16:
                raise SupervisorError(f"the token in {path} is shorter than 16 characters")
            return token
        path.parent.mkdir(parents=True, exist_ok=True)
        token = secrets.token_urlsafe(24)
        write_private(path, token)
    except (OSError, UnicodeError) as error:
        raise SupervisorError(f"cannot use the token file {path}: {error}") from error
    return token


class ControlApi:
    """Handles the requests for one device."""

    def __init__(self, device: SupervisedDevice, token: str) -> None:
        self._device = device
        self._token = token
        self.end_reported = asyncio.Event()  # a worker has read how the emulator ended

    async def handle(self, request: ControlRequest) -> ControlResponse:
        device = self._device
        if request.path == "/healthz":
            return as_json(
                200 if device.healthy else 503, {"state": device.state, "hung": device.hung}
            )
        if not token_matches(request.token, self._token):
            return refused(401, "the X-Emufarm-Token header is missing or wrong")
        match request.method, request.path:
            case "GET", "/facts":
                if device.state == "ended":
                    self.end_reported.set()
                return as_json(200, device.facts())
            case "GET", "/log":
                return self._log(request.query.get("bytes", "65536"))
            case "POST", "/restart":
                return await self._restart()
            case _, "/facts" | "/log" | "/restart":
                return refused(405, f"{request.method} is not what {request.path} takes")
        return refused(404, f"there is no {request.path}")

    def _log(self, count: str) -> ControlResponse:
        if not (count.isascii() and count.isdecimal()) or len(count) > 12:
            return refused(400, f"bytes must be a number up to {TAIL_LIMIT}")
        return ControlResponse(200, self._device.tail(int(count)), "text/plain; charset=utf-8")

    async def _restart(self) -> ControlResponse:
        if self._device.state != "running":
            return refused(409, f"the device is {self._device.state}")
        try:
            await self._device.restart()
        except SupervisorError as error:
            return refused(500, str(error))
        return as_json(200, self._device.facts())


def end_with_stdin(asked: asyncio.Event) -> None:
    """Also if the process that holds its other end is killed."""
    loop = asyncio.get_running_loop()

    def readable() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            asked.set()

    try:
        loop.add_reader(0, readable)
    except OSError as error:
        raise SupervisorError(f"--tied needs a pipe as stdin: {error}") from error


async def run(settings: SupervisorSettings, access: Access) -> int:
    """Run until asked to stop (returns 0) or until the emulator ends by itself (its exit code)."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    if access.tied:
        end_with_stdin(asked)
    reaper = Reaper()
    reaper.watch()
    device = SupervisedDevice(settings, reaper)
    control = ControlApi(device, control_token(access.token_file))
    try:
        server = await serve(access.port, control.handle)
    except OSError as error:
        raise SupervisorError(f"cannot listen on control port {access.port}: {error}") from error
    port = server.sockets[0].getsockname()[1]
    life = asyncio.create_task(_live(device, port))
    stop = asyncio.create_task(asked.wait())
    logs = asyncio.create_task(keep_short([settings.log, settings.adb_log]))
    looks = asyncio.create_task(device.keep_looking())
    try:
        await asyncio.wait({life, stop}, return_when=asyncio.FIRST_COMPLETED)
        if life.done() and not asked.is_set():
            reported = asyncio.create_task(control.end_reported.wait())
            await asyncio.wait(
                {reported, stop}, timeout=access.linger_s, return_when=asyncio.FIRST_COMPLETED
            )
            reported.cancel()
        return await life if life.done() else 0
    finally:
        server.close()
        for task in (stop, life, logs, looks):
            task.cancel()
        await device.stop()


async def _live(device: SupervisedDevice, port: int) -> int:
    await device.start()
    print(json.dumps({"control_port": port, "pid": os.getpid()}), flush=True)
    return await device.ended


def main() -> int:
    try:
        settings, access = parse(sys.argv[1:])
        adopt_orphans()
        return asyncio.run(run(settings, access))
    except SupervisorError as error:
        print(f"supervisor: {error}", file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
