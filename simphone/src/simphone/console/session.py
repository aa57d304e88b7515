"""One console connection: finds the command in the table it is allowed, and words the reply."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..faults.seam import Faults
from .token import read_token

if TYPE_CHECKING:
    from pathlib import Path

    from ..phone import Phone

log = logging.getLogger(__name__)

# Gives what stands before `OK`; Refused is what stands instead of it.
Handler = Callable[["Session", str], Awaitable[str]]
PROMPT = "Android Console: type 'help' for a list of commands\r\n"
UNTOUCHED = Faults()
_HTTP = ("GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS ", "CONNECT ", "TRACE ", "PATCH ")


class Refused(Exception):
    """`KO: ...` lines, without their `KO: `; what is said before them in `before`."""

    def __init__(self, *lines: str, before: str = "") -> None:
        super().__init__(*lines)
        self.before = before

    def __str__(self) -> str:
        return self.before + "".join(f"KO: {line}\r\n" for line in self.args)


@dataclass(frozen=True)
class Command:
    names: str  # alternatives joined by |
    abstract: str
    run: Handler | None = None
    commands: tuple[Command, ...] = ()
    description: str = ""
    steady: bool = False  # no armed fault touches it

    def help(self, prefix: str) -> str:
        text = self.description or f"{self.abstract}\r\n"
        if self.commands:
            text += "\r\navailable sub-commands:\r\n"
            for one in self.commands:
                text += f"   {prefix} {one.names:<15}  {one.abstract}\r\n"
            text += "\r\n"
        return text


def find(commands: tuple[Command, ...], line: str) -> tuple[Command | None, str]:
    """The command that the line begins with, and its arguments."""
    name, _, args = line.partition(" ")
    return next((c for c in commands if name in c.names.split("|")), None), args.lstrip(" ")


class Session:
    def __init__(
        self,
        phone: Phone,
        token_file: Path,
        commands: tuple[Command, ...],
        before_auth: tuple[Command, ...],
    ) -> None:
        self.phone = phone
        self.over = False
        self._token_file = token_file
        self._all = commands
        self._allowed = before_auth

    def greeting(self) -> str:
        token = read_token(self._token_file)
        if token is None:
            self.over = True
            return ""
        if not token:
            self._allowed = self._all
            return f"{PROMPT}OK\r\n"
        return (
            "Android Console: Authentication required\r\n"
            "Android Console: type 'auth <auth_token>' to authenticate\r\n"
            "Android Console: you can find your <auth_token> in \r\n"
            f"'{self._token_file}'\r\nOK\r\n"
        )

    async def answer(self, raw: bytes) -> str:
        """The whole reply to one line; `over` says whether the connection ends with it."""
        try:
            line = raw.replace(b"\r", b"").decode("utf-8")
        except UnicodeDecodeError:
            self.over = True
            return "KO: Forbidden binary request. Aborting\r\n"
        if line.startswith(_HTTP) and " HTTP/" in line:
            self.over = True
            return "KO: Forbidden HTTP request. Aborting\r\n"
        self.phone.hold()
        command, _ = find(self._allowed, line)
        faults = UNTOUCHED if command is not None and command.steady else self.phone.world.faults
        try:
            reply = await self._run(faults.at("console.command", line))
        except Refused as refused:
            reply = str(refused)
        except Exception:
            # Root can ruin the databases that a call or a message needs; the console stays.
            log.exception("the console command %.100r failed", line)
            reply = "KO: internal error\r\n"
        self.phone.hold()
        return faults.at("console.reply", reply)

    async def _run(self, line: str) -> str:
        command, args = find(self._allowed, line)
        if command is None:
            raise Refused("unknown command, try 'help'")
        while command.run is None:
            if not args:
                raise Refused("missing sub-command", before=command.help(""))
            found, args = find(command.commands, args)
            if found is None:
                raise Refused(" bad sub-command", before=command.help(""))
            command = found
        said = await command.run(self, args)
        return said if self.over else f"{said}OK\r\n"

    def authenticate(self, token: str) -> str:
        if not token:
            raise Refused("missing authentication token")
        expected = read_token(self._token_file)
        if expected is None:
            raise Refused("unable to read ~/.emulator_console_auth_token")
        if not hmac.compare_digest(token.encode(), expected.encode()):
            raise Refused("authentication token does not match ~/.emulator_console_auth_token")
        self._allowed = self._all
        return PROMPT

    def help(self, topic: str, *, verbose: bool = False) -> str:
        if verbose:
            rows = "".join(f"    {c.names:<15}  {c.abstract}\r\n" for c in self._allowed)
            foot = "\r\ntry 'help <command>' for command-specific help\r\n"
            return f"Android console command help:\r\n\r\n{rows}{foot}"
        names = "".join(f"    {c.names}\r\n" for c in self._allowed)
        short = (
            f"Android console commands:\r\n{names}\r\n"
            "Try 'help-verbose' for more description\r\n"
            "Try 'help <command>' for command-specific help\r\n"
        )
        if not topic:
            return short
        commands, rest = self._allowed, topic
        while True:
            command, rest = find(commands, rest)
            if command is None:
                raise Refused("unknown command", before=f"{short}\r\n")
            if not rest or not command.commands:
                return command.help(topic)
            commands = command.commands
