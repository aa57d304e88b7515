"""How does a name become a running program? Look-up, a process of its own, its end by a signal."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Coroutine
from typing import Any

from ..expression import TooSlow
from ..processes import Process
from ..programs.call import Call, Program
from ..programs.flags import BadUsage
from ..programs.opening import reason
from ..world import World
from .state import PATH

# A phone that forks without end says so instead of taking the host with it.
MAX_RUNNING = 256
BIN = ("/system/bin/", "/system/xbin/", "/vendor/bin/", "/product/bin/")
SIGTERM = 15
SIGPIPE = 141
SIGABRT = 134
SQLITE_FULL = "android.database.sqlite.SQLiteFullException"

log = logging.getLogger(__name__)


class NotRunnable(Exception):
    """No program starts: 127 where nothing was found, 126 where it may not run."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Job:
    """A process and the coroutine behind it; a signal cancels it."""

    def __init__(
        self,
        world: World,
        name: str,
        uid: int,
        ppid: int,
        body: Callable[[Process], Coroutine[Any, Any, int]],
    ) -> None:
        if world.processes.running() >= MAX_RUNNING:
            raise NotRunnable(1, "can't fork - try again")
        self._killed = 0
        self._world = world
        self.process = world.processes.run(name, uid, ppid, self._signalled)
        self._body = asyncio.create_task(body(self.process))
        self._body.add_done_callback(self._left)

    def on_end(self, call: Callable[[], None]) -> None:
        self._body.add_done_callback(lambda _: call())

    def _left(self, _: asyncio.Task[int]) -> None:
        self._world.processes.leave(self.process)

    def _signalled(self, number: int) -> None:
        if number:
            self._killed = number
            self._body.cancel()

    def end(self) -> None:
        self._body.cancel()

    async def wait(self) -> int:
        """The exit code; whoever stops waiting leaves it running."""
        await asyncio.wait([self._body])
        if self._body.cancelled():
            return 128 + (self._killed or SIGTERM)
        return self._body.result()

    async def result(self) -> int:
        """The exit code; whoever stops waiting ends it."""
        current = asyncio.current_task()
        assert current is not None
        try:
            code = await self._body
        except asyncio.CancelledError:
            if not self._killed or current.cancelling():
                raise
            return 128 + self._killed
        if current.cancelling():
            # The body swallowed what was meant for us.
            raise asyncio.CancelledError
        return code


def programs() -> dict[str, Program]:
    # Not at the top: the table holds sh and xargs, which start programs through here.
    from ..programs.table import PROGRAMS

    return PROGRAMS


def find(world: World, name: str, uid: int, cwd: str, path: str = PATH) -> str:
    """The guest path that a command's name runs; NotRunnable says why there is none."""
    if "/" not in name:
        if name in programs():
            return BIN[0] + name
        for folder in path.split(":"):
            candidate = f"{folder or '.'}/{name}"
            if folder and _runs(world, candidate, uid, cwd):
                return candidate
        raise NotRunnable(127, f"{name}: inaccessible or not found")
    try:
        canonical = world.disk.canonical(name, cwd)
        if _built_in(canonical):
            return canonical
        entry = world.disk.entry(name, uid, cwd)
    except OSError:
        raise NotRunnable(127, f"{name}: inaccessible or not found") from None
    if entry.is_dir:
        raise NotRunnable(126, f"{name}: can't execute: Is a directory")
    if not _runs(world, name, uid, cwd):
        raise NotRunnable(126, f"{name}: can't execute: Permission denied")
    return name


def _built_in(canonical: str) -> bool:
    folder, _, name = canonical.rpartition("/")
    return folder + "/" in BIN and name in programs()


def _runs(world: World, path: str, uid: int, cwd: str) -> bool:
    try:
        entry = world.disk.entry(path, uid, cwd)
    except OSError:
        return False
    # The shared storage is mounted noexec.
    return bool(entry.is_file and entry.mode & 0o111) and not entry.path.startswith("/data/media/")


def resolve(call: Call) -> tuple[Program, list[str]]:
    """The program of this call and the arguments it sees; a script is run by sh."""
    found = find(call.world, call.name, call.uid, call.cwd, call.env.get("PATH", PATH))
    canonical = call.world.disk.canonical(found, call.cwd)
    if _built_in(canonical):
        return programs()[canonical.rpartition("/")[2]], call.argv
    with call.world.disk.open(found, call.uid, call.cwd) as opened:
        start = opened.read(256)
    if start.startswith(b"\x7fELF"):
        raise NotRunnable(126, f"{call.name}: can't execute: Exec format error")
    if start.startswith(b"#!"):
        words = start[2:].split(b"\n")[0].decode("utf-8", "surrogateescape").split(None, 1)
        interpreter = programs().get(words[0].rpartition("/")[2]) if words else None
        if interpreter is None:
            raise NotRunnable(127, f"{call.name}: inaccessible or not found")
        return interpreter, [words[0], *words[1:], found, *call.args]
    return programs()["sh"], ["sh", found, *call.args]


async def launch(call: Call, ppid: int = 1) -> int:
    """Run one program as a process; its exit code, or 128 + the signal that ended it."""
    world = call.world
    program, argv = resolve(call)
    world.tick()
    await world.noise.lag()
    call.argv = world.faults.at("program", argv)
    name = call.name.rpartition("/")[2]

    async def body(process: Process) -> int:
        call.pid = process.pid
        return await guarded(program, call)

    return await Job(world, name, call.uid, ppid, body).result()


def _full(error: Exception) -> bool:
    return isinstance(error, sqlite3.Error) and error.sqlite_errorcode == sqlite3.SQLITE_FULL


async def guarded(program: Program, call: Call) -> int:
    """A program's exit code however it ends, except by cancellation."""
    name = call.name.rpartition("/")[2]
    try:
        return await program(call)
    except BrokenPipeError:
        return SIGPIPE
    except BadUsage as error:
        text, code = error.line(name), error.code
    except TooSlow as error:
        text, code = f"{name}: {error}", 1
    except OSError as error:
        about = f"{error.filename}: " if isinstance(error.filename, str) else ""
        text, code = f"{name}: {about}{reason(error)}", 1
    except NotRunnable as error:
        text, code = f"{name}: exec {error}", error.code
    except Exception as error:
        if _full(error):
            text, code = f"{SQLITE_FULL}: {error} (code 13 SQLITE_FULL)", 255
        else:
            log.exception("program %.300s failed", call.argv[:8])
            text, code = "Aborted", SIGABRT
    with contextlib.suppress(BrokenPipeError):
        await call.err(text + "\n")
    return code
