"""How a shell lives: from its first process to the end of the jobs it started."""

from __future__ import annotations

import asyncio
import contextlib

from ..processes import SHELL, Process
from ..programs.call import Call
from ..programs.opening import close
from ..streams import Sink, Source
from ..world import World
from .execution import Interpreter, contained
from .flow import Exit, Jump
from .input import Input
from .launch import SIGPIPE, Job, NotRunnable
from .parser import MAX_SCRIPT, parse
from .state import NAME, Shell, environment
from .syntax import Incomplete, Script, ShellSyntaxError

INTERRUPTED = 130
# After so many bytes, an unfinished command is read again only when it has grown by a quarter:
# else a long here-document typed line by line would cost its length squared.
REPARSED = 1 << 20


async def run_script(
    world: World,
    script: str,
    *,
    stdin: Source,
    stdout: Sink,
    stderr: Sink,
    uid: int = SHELL,
    tty: bool = False,
    interactive: bool = False,
    interrupts: asyncio.Event | None = None,
) -> int:
    """A shell as adbd starts it: `script`, or where `interactive` the commands from stdin.

    Cancelling it ends every program and job below it. `interrupts`, set by a terminal on ^C,
    ends the command that an interactive shell is running, not the shell.
    """
    env = environment(uid, tty=tty)
    call = Call(world, [NAME], stdin, stdout, stderr, uid, "/", env, tty)
    adbd = world.processes.find("adbd")

    async def body(process: Process) -> int:
        shell = shell_of(call, process.pid)
        if interactive:
            return await run_lines(shell, prompting=tty, interrupts=interrupts)
        return await run_text(shell, script)

    try:
        return await Job(world, "sh", uid, adbd.pid if adbd else 1, body).result()
    except NotRunnable as error:
        with contextlib.suppress(BrokenPipeError):
            await call.err(f"{NAME}: {error}\n")
        return error.code


def shell_of(call: Call, pid: int, name: str = NAME, positional: list[str] | None = None) -> Shell:
    """A shell with a call's streams and environment."""
    stdin = call.stdin if isinstance(call.stdin, Input) else Input(call.stdin)
    return Shell(
        call.world,
        {0: stdin, 1: call.stdout, 2: call.stderr},
        dict(call.env),
        set(call.env),
        uid=call.uid,
        cwd=call.cwd,
        name=name,
        positional=positional or [],
        pid=pid,
        tty=call.tty,
    )


async def run_text(shell: Shell, text: str) -> int:
    """A whole script, and the end of the jobs it left behind."""
    try:
        script = parse(text)
    except ShellSyntaxError as error:
        with contextlib.suppress(BrokenPipeError):
            await shell.complain(str(error))
        return 1
    try:
        return await contained(Interpreter(shell), script)
    finally:
        await _end(shell)


async def run_lines(
    shell: Shell, *, prompting: bool = False, interrupts: asyncio.Event | None = None
) -> int:
    """Commands from stdin, each run when it is complete."""
    try:
        return await _lines(shell, prompting, interrupts)
    except Exit as end:
        return end.code
    except BrokenPipeError:
        return SIGPIPE
    finally:
        await _end(shell)


async def _lines(shell: Shell, prompting: bool, interrupts: asyncio.Event | None) -> int:
    stdin = shell.files[0]
    assert isinstance(stdin, Input)
    interpreter = Interpreter(shell)
    text = ""
    parsed = again_at = 0
    while True:
        if prompting:
            await _prompt(shell, more=bool(text))
        line = await stdin.line(MAX_SCRIPT)
        text += line.decode("utf-8", "surrogateescape")
        if len(text) > MAX_SCRIPT or (len(line) == MAX_SCRIPT and not line.endswith(b"\n")):
            await shell.complain("script too long")
            return 1
        if not text:
            return shell.status
        if line and len(text) < again_at:
            continue
        parsed += len(text)
        try:
            script = parse(text)
        except Incomplete as error:
            if line:
                again_at = len(text) * 5 // 4 if parsed > REPARSED else 0
                continue
            await shell.complain(str(error))
            return 1
        except ShellSyntaxError as error:
            await shell.complain(str(error))
            shell.status = 1
            if not prompting:
                return 1
        else:
            await _one(interpreter, script, interrupts)
        text = ""
        parsed = again_at = 0


async def _prompt(shell: Shell, *, more: bool) -> None:
    sign = "#" if shell.uid == 0 else "$"
    code = f"{shell.status}|" if shell.status else ""
    await shell.call([""]).err("> " if more else f"{code}emu64xa:{shell.cwd} {sign} ")


async def _one(interpreter: Interpreter, script: Script, interrupts: asyncio.Event | None) -> None:
    """Run one command; ^C ends it and leaves the shell."""
    if interrupts is None:
        with contextlib.suppress(Jump):
            await interpreter.script(script)
        return
    interrupts.clear()
    running = asyncio.create_task(interpreter.script(script))
    interrupted = asyncio.create_task(interrupts.wait())
    try:
        await asyncio.wait((running, interrupted), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            with contextlib.suppress(Jump):
                running.result()
        else:
            interpreter.shell.status = INTERRUPTED
    finally:
        for task in (running, interrupted):
            task.cancel()
        await asyncio.gather(running, interrupted, return_exceptions=True)


async def _end(shell: Shell) -> None:
    jobs = list(shell.family)
    for job in jobs:
        job.end()
    await asyncio.gather(*(job.wait() for job in jobs))
    for stream in shell.kept:
        close(stream)
