"""A phone in the test's own process, on free ports, with everything behind them real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from simphone.apps import APPS
from simphone.avd import Avd, create_avd
from simphone.options import parse
from simphone.phone import Phone
from simphone.shell.interpreter import run_script
from tests.ports import even_port

WAIT_S = 60.0


async def until(true: Callable[[], bool]) -> None:
    """Polls; the condition is the guest's, which has nothing to wait on."""
    async with asyncio.timeout(WAIT_S):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


def is_up(phone: Phone) -> bool:
    return phone.world.properties.get("init.svc.bootanim") == "stopped"


def new_phone(
    tmp_path: Path, *argv: str, avd: Avd | None = None, log: list[str] | None = None
) -> Phone:
    """A phone that was not switched on yet; authentication on the console is off."""
    avd = avd or create_avd(tmp_path / "avd", "x")
    token = tmp_path / "token"
    if not token.exists():
        token.write_text("")
    lines = log if log is not None else []
    return Phone(
        parse(["-avd", avd.name, "-port", str(even_port()), "-skip-adb-auth", *argv]),
        avd,
        avd.userdata,
        apps=APPS,
        run_shell=run_script,
        token_file=token,
        server_port=even_port(),
        log=lambda level, text: lines.append(f"{level} {text}"),
    )


@asynccontextmanager
async def booted(tmp_path: Path, *argv: str, log: list[str] | None = None) -> AsyncIterator[Phone]:
    phone = new_phone(tmp_path, *argv, log=log)
    await phone.listen()
    try:
        phone.power_on()
        await until(lambda: is_up(phone))
        yield phone
    finally:
        await phone.stop()


async def console(phone: Phone, *lines: str | bytes) -> str:
    """What a console connection says to these lines, greeting included, until it ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", phone.options.console_port)
    try:
        for line in lines:
            writer.write(line if isinstance(line, bytes) else f"{line}\n".encode())
        writer.write_eof()
        async with asyncio.timeout(WAIT_S):
            return (await reader.read()).decode()
    finally:
        writer.close()


async def ask(phone: Phone, *lines: str) -> str:
    """The replies alone, where authentication is off."""
    said = await console(phone, *lines)
    greeting = "Android Console: type 'help' for a list of commands\r\nOK\r\n"
    assert said.startswith(greeting)
    return said.removeprefix(greeting)
