"""`sqlite3` on the phone's own database files.

It opens a connection of its own, as the real program does, and holds it only while nothing is
waited for: the phone's apps never meet its locks, and a snapshot never finds it open.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from ..guest_sql import MAX_VALUE_BYTES, fetch, guarded, too_big
from ..streams import read_all
from .call import Call, Program
from .opening import lines
from .sqlite_dot import DotError, Quit, in_mode, run
from .sqlite_output import Format, rows_text
from .sqlite_script import Statement, is_complete, statements

VERSION = "3.39.2 2022-07-21 15:24:47"
LOCK_WAIT_S = 1.0
MAX_SCRIPT = 32 << 20
MODE_FLAGS = ("csv", "json", "line", "list", "column", "quote", "tabs")


class BadOption(Exception):
    """The command line is not understood."""


class Failed(Exception):
    """A statement failed: the text without its prefix, and SQLite's code."""

    def __init__(self, phase: str, error: Exception) -> None:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code == sqlite3.SQLITE_SCHEMA:
            # A wrong statement that was the first to look at the schema.
            code = sqlite3.SQLITE_ERROR
        self.phase = phase
        self.code = code
        self.reason = f"{error} ({code})" if code > 1 else str(error)
        super().__init__(self.reason)


@dataclass
class Session:
    """What lasts from one statement to the next, and what they printed."""

    call: Call
    path: str = ""  # "" is a database in memory
    form: Format = field(default_factory=Format)
    readonly: bool = False
    bail: bool = False
    first: list[str] = field(default_factory=list)  # run before anything else
    scripts: list[str] = field(default_factory=list)  # from the command line
    out: list[str] = field(default_factory=list)
    size: int = 0
    err: list[str] = field(default_factory=list)

    def print(self, text: str) -> None:
        self.size += len(text)
        if self.size > MAX_VALUE_BYTES:
            raise Failed("stepping", too_big())
        self.out.append(text)

    async def flush(self) -> None:
        out, err = "".join(self.out), "".join(self.err)
        self.out, self.err, self.size = [], [], 0
        await self.call.out(out)
        await self.call.err(err)


async def sqlite3_program(call: Call) -> int:
    await call.world.noise.lag()
    call.world.tick()
    args = call.java_args
    if args[:1] in (["-version"], ["--version"]):
        await call.out(f"{VERSION}\n")
        return 0
    try:
        session = read_arguments(call, args)
    except BadOption as error:
        return await call.fail(f"{call.name}: Error: {error}\nUse -help for a list of options.")
    try:
        if session.scripts:
            code = _once(session, session.scripts)
        elif call.tty:
            code = await _interactive(session)
        else:
            script = (await read_all(call.stdin, MAX_SCRIPT)).decode("utf-8", "replace")
            code = _batch(session, script.partition("\0")[0])
    except ValueError:  # of read_all
        session.err.append("Error: out of memory\n")
        code = 1
    except (OSError, sqlite3.OperationalError) as error:
        reason = "unable to open database file" if isinstance(error, OSError) else str(error)
        session.err.append(f'Error: unable to open database "{session.path}": {reason}\n')
        code = 1
    await session.flush()
    return code


def read_arguments(call: Call, args: list[str]) -> Session:
    session = Session(call)
    words: list[str] = []
    todo = list(args)
    while todo:
        arg = todo.pop(0)
        name = arg.lstrip("-") if arg.startswith("-") and arg != "-" else ""
        if not name:
            words.append(arg)
        elif name in MODE_FLAGS:
            session.form = in_mode(session.form, name)
        elif name in ("header", "headers", "noheader"):
            session.form = replace(session.form, header=name != "noheader")
        elif name in ("separator", "nullvalue", "cmd", "newline"):
            if not todo:
                raise BadOption(f"missing argument to {arg}")
            _valued(session, name, todo.pop(0))
        elif name in ("readonly", "bail"):
            setattr(session, name, True)
        elif name not in ("batch", "interactive", "safe", "nofollow", "echo"):
            raise BadOption(f"unknown option: {arg}")
    session.path = "" if words[:1] in ([], [":memory:"]) else words[0]
    session.scripts = words[1:]
    return session


def _valued(session: Session, name: str, value: str) -> None:
    if name == "cmd":
        session.first.append(value)
    elif name == "nullvalue":
        session.form = replace(session.form, null=value)
    elif name == "newline":
        session.form = replace(session.form, newline=value)
    else:
        session.form = replace(session.form, separator=value)


@contextmanager
def opened(session: Session) -> Iterator[sqlite3.Connection]:
    """A connection to the guest's file; OSError where the user may not open it."""
    call = session.call
    target, mode = ":memory:", ""
    if session.path:
        host = call.world.disk.readable(session.path, call.uid, call.cwd)
        mode = "ro" if session.readonly else "rwc"
        try:
            call.world.disk.writable(session.path, call.uid, call.cwd)
        except OSError as error:
            if error.errno != errno.EROFS or not host.is_file():
                raise
            mode = "ro"
        target = f"file:{quote(str(host))}?mode={mode}"
    connection = sqlite3.connect(target, uri=bool(mode), isolation_level=None, timeout=LOCK_WAIT_S)
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    # An open transaction dies with the connection, as it does with the program.
    with closing(connection), guarded(connection):
        yield connection


def _execute(session: Session, connection: sqlite3.Connection, statement: Statement) -> None:
    try:
        if statement.dot:
            text, session.form = run(connection, statement.text, session.form)
        else:
            cursor = connection.execute(statement.text)
            names = [column[0] for column in cursor.description or ()]
            text = rows_text(names, fetch(cursor), session.form)
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise Failed(_phase(connection, statement, error), error) from error
    session.print(text)


def _phase(connection: sqlite3.Connection, statement: Statement, error: Exception) -> str:
    """Whether the statement was wrong or failed while it ran: a wrong one has no plan."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
        return "stepping"
    try:
        connection.execute(f"EXPLAIN {statement.text}").fetchall()
    except (sqlite3.Error, sqlite3.Warning):
        return "in prepare"
    return "stepping"


def _once(session: Session, scripts: list[str]) -> int:
    """Statements from the command line: the first error ends all."""
    with opened(session) as connection:
        try:
            for script in [*session.first, *scripts]:
                for statement in statements(script):
                    _execute(session, connection, statement)
        except Failed as failed:
            session.err.append(f"Error: {failed.phase}, {failed.reason}\n")
            return failed.code
        except DotError as error:
            session.err.append(f"{error}\n")
            return 1
        except Quit:
            return 0
    return 0


def _batch(session: Session, script: str) -> int:
    """Statements from stdin: an error is reported with its line, and the next one runs."""
    code = 0
    with opened(session) as connection:
        for statement in [
            *(each for script_ in session.first for each in statements(script_)),
            *statements(script),
        ]:
            try:
                _execute(session, connection, statement)
            except Failed as failed:
                kind = "Parse" if failed.phase == "in prepare" else "Runtime"
                at = "" if session.call.tty else f" near line {statement.line}"
                session.err.append(f"{kind} error{at}: {failed.reason}\n")
                code = 1
            except DotError as error:
                session.err.append(f"{error}\n")
                code = 1
            except Quit:
                return code
            if code and session.bail:
                break
    return code


async def _interactive(session: Session) -> int:
    """A person at a terminal: each complete statement runs at once, on its own connection."""
    call = session.call
    await call.out(f'SQLite version {VERSION}\nEnter ".help" for usage hints.\nsqlite> ')
    held = ""
    async for line in lines(call.stdin):
        held += line.decode("utf-8", "replace")
        if held.strip() in (".quit", ".exit", ".q"):
            break
        if is_complete(held):
            _batch(session, held)
            await session.flush()
            held = ""
        await call.out("   ...> " if held else "sqlite> ")
    return 0


PROGRAMS: dict[str, Program] = {"sqlite3": sqlite3_program}
