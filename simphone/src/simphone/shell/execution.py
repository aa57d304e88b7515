"""What does a script do? Nodes are walked here; every pipe's stage and job is a task that ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..expression import TooSlow
from ..streams import Fixed, Pipe
from . import pattern
from .brackets import Brackets
from .builtins import BUILTINS
from .expand import Expander, ExpansionError
from .flow import Exit, Jump, Return
from .input import Input
from .launch import SIGPIPE, Job, NotRunnable, launch
from .redirect import Redirected, RedirectError
from .state import BadDescriptor, Shell
from .syntax import (
    AndOr,
    Assignment,
    Case,
    Command,
    Condition,
    For,
    Function,
    Group,
    If,
    Loop,
    Pipeline,
    Script,
    Simple,
    Subshell,
)

if TYPE_CHECKING:
    from ..processes import Process

# Of loops, functions and eval inside each other: within Python's own stack.
MAX_DEPTH = 60
# How many commands run before everybody else on the phone gets a turn.
TURN = 32


class Interpreter:
    """Walks scripts for one shell. `tested` marks commands whose failure `set -e` forgives."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.expander = Expander(shell, substitute)
        self._ran = 0

    async def script(self, script: Script, *, tested: bool = False) -> int:
        for item in script.items:
            if item.background:
                self.shell.status = await self._background(item)
            else:
                await self._and_or(item, tested=tested)
        return self.shell.status

    async def _and_or(self, item: AndOr, *, tested: bool = False) -> int:
        last = len(item.rest)
        status = await self._pipeline(item.first, tested=tested or last > 0)
        for index, (operator, pipeline) in enumerate(item.rest, start=1):
            if (status == 0) == (operator == "&&"):
                status = await self._pipeline(pipeline, tested=tested or index < last)
        return status

    async def _background(self, item: AndOr) -> int:
        shell = self.shell.fork()
        shell.files[0] = Input(Fixed())

        async def body(_: Process) -> int:
            return await contained(Interpreter(shell), Script((AndOr(item.first, item.rest),)))

        try:
            job = Job(shell.world, "sh", shell.uid, shell.pid, body)
        except NotRunnable as error:
            await self.shell.complain(str(error))
            return 1
        family = self.shell.family
        family.add(job)
        job.on_end(lambda: family.discard(job))
        self.shell.jobs[job.process.pid] = job
        self.shell.last_job = job.process.pid
        return 0

    async def _pipeline(self, pipeline: Pipeline, *, tested: bool) -> int:
        tested = tested or pipeline.negated
        if len(pipeline.commands) == 1:
            status = await self._command(pipeline.commands[0], tested=tested)
        else:
            status = await self._piped(pipeline.commands)
        self.shell.status = int(not status) if pipeline.negated else status
        if status and not tested and "e" in self.shell.options:
            raise Exit(status)
        return self.shell.status

    async def _piped(self, commands: tuple[Command, ...]) -> int:
        pipes = [Pipe() for _ in commands[1:]]
        ends = [None, *pipes], [*pipes, None]
        tasks = [
            asyncio.create_task(self._stage(command, source, sink))
            for command, source, sink in zip(commands, *ends, strict=True)
        ]
        try:
            codes = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return codes[-1]

    async def _stage(self, command: Command, source: Pipe | None, sink: Pipe | None) -> int:
        shell = self.shell.fork()
        if source is not None:
            shell.files[0] = Input(source)
        if sink is not None:
            shell.files[1] = sink
            shell.tty = False
        try:
            return await contained(Interpreter(shell), Script((AndOr(Pipeline((command,))),)))
        finally:
            if sink is not None:
                await sink.end()
            if source is not None:
                await source.abandon()

    async def _command(self, command: Command, *, tested: bool) -> int:
        if isinstance(command, Simple):
            return await self._simple(command, tested=tested)
        redirected = Redirected(self.shell)
        async with self.deeper():
            try:
                await redirected.apply(command.redirects, self.expander)
                return await self._compound(command, tested=tested)
            except (RedirectError, ExpansionError, TooSlow) as error:
                await self.shell.complain(str(error))
                return 1
            finally:
                redirected.restore()

    async def _compound(self, command: Command, *, tested: bool) -> int:
        match command:
            case Subshell(body):
                # A task of its own: a subshell's stack starts afresh.
                return await asyncio.create_task(
                    contained(Interpreter(self.shell.fork()), body, tested=tested)
                )
            case Group(body):
                return await self.script(body, tested=tested)
            case If():
                return await self._if(command, tested=tested)
            case Loop():
                return await self._loop(command, tested=tested)
            case For():
                return await self._for(command, tested=tested)
            case Case():
                return await self._case(command, tested=tested)
            case Condition(words):
                return await Brackets(words, self.shell, self.expander).status()
            case Function(name, body):
                self.shell.functions[name] = body
                return 0
        raise AssertionError(command)

    async def _if(self, command: If, *, tested: bool) -> int:
        for condition, then in command.branches:
            if await self.script(condition, tested=True) == 0:
                return await self.script(then, tested=tested)
        if command.otherwise is not None:
            return await self.script(command.otherwise, tested=tested)
        self.shell.status = 0
        return 0

    async def _loop(self, command: Loop, *, tested: bool) -> int:
        status = 0
        while True:
            await self._turn()
            try:
                if (await self.script(command.condition, tested=True) == 0) == command.until:
                    break
                status = await self.script(command.body, tested=tested)
            except Jump as jump:
                if _leaves(jump):
                    break
        self.shell.status = status
        return status

    async def _for(self, command: For, *, tested: bool) -> int:
        if command.words is None:
            values = list(self.shell.positional)
        else:
            values = await self.expander.fields(command.words)
        status = 0
        for value in values:
            await self._turn()
            self.shell.put(command.name, value)
            try:
                status = await self.script(command.body, tested=tested)
            except Jump as jump:
                if _leaves(jump):
                    break
        self.shell.status = status
        return status

    async def _case(self, command: Case, *, tested: bool) -> int:
        subject = await self.expander.text(command.subject)
        for patterns, body in command.branches:
            for word in patterns:
                if pattern.matches(subject, await self.expander.segments(word)):
                    self.shell.status = 0
                    return await self.script(body, tested=tested)
        self.shell.status = 0
        return 0

    async def _turn(self) -> None:
        self._ran += 1
        if self._ran % TURN == 0:
            await asyncio.sleep(0)

    async def _simple(self, command: Simple, *, tested: bool) -> int:
        await self._turn()
        self.expander.substituted = 0
        redirected = Redirected(self.shell)
        keep = False
        try:
            argv = await self.expander.fields(command.words)
            await redirected.apply(command.redirects, self.expander)
            values = [await self._value(assignment) for assignment in command.assignments]
            await self._trace(values, argv)
            if not argv:
                for name, value in values:
                    self.shell.put(name, value)
                return self.expander.substituted
            keep = argv == ["exec"]
            return await self.run(argv, dict(values))
        except RedirectError as error:
            await self.shell.complain(str(error))
            return 1
        except (ExpansionError, TooSlow) as error:
            await self.shell.complain(str(error))
            raise Exit(1) from None
        except BadDescriptor:
            await self.shell.complain("bad file descriptor")
            return 1
        finally:
            if keep:
                redirected.keep()
            else:
                redirected.restore()

    async def _value(self, assignment: Assignment) -> tuple[str, str]:
        value = await self.expander.text(assignment.value)
        if assignment.append:
            value = (self.shell.get(assignment.name) or "") + value
        return assignment.name, value

    async def _trace(self, values: list[tuple[str, str]], argv: list[str]) -> None:
        if "x" in self.shell.options:
            shown = [f"{name}={value}" for name, value in values] + argv
            trace = f"+ {' '.join(shown)}\n"
            await self.shell.call([""]).err(trace)

    def deeper(self) -> _Deeper:
        return _Deeper(self.shell)

    async def run(self, argv: list[str], values: dict[str, str]) -> int:
        """One command with its arguments: a function, a builtin, or a program."""
        function = self.shell.functions.get(argv[0])
        if function is not None:
            with _Assigned(self.shell, values):
                return await self._call(function, argv[1:])
        builtin = BUILTINS.get(argv[0])
        if builtin is not None:
            with _Assigned(self.shell, values):
                return await builtin(self, argv)
        return await self.program(argv, values)

    async def program(self, argv: list[str], values: dict[str, str]) -> int:
        try:
            return await launch(self.shell.call(argv, values), self.shell.pid)
        except NotRunnable as error:
            await self.shell.complain(str(error))
            return error.code

    async def _call(self, function: Command, args: list[str]) -> int:
        shell = self.shell
        before, shell.positional = shell.positional, args
        shell.scopes.append({})
        try:
            async with self.deeper():
                return await self._command(function, tested=False)
        except Return as done:
            return done.code
        finally:
            shell.positional = before
            for name, value in shell.scopes.pop().items():
                if value is None:
                    shell.variables.pop(name, None)
                else:
                    shell.variables[name] = value


class _Deeper:
    """One more level of nesting, or the end of the script."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    async def __aenter__(self) -> None:
        self._shell.depth += 1
        if self._shell.depth > MAX_DEPTH:
            self._shell.depth -= 1
            await self._shell.complain("recursion too deep")
            raise Exit(1)

    async def __aexit__(self, *_: object) -> None:
        self._shell.depth -= 1


class _Assigned:
    """`NAME=value builtin`: the variables hold while it runs."""

    def __init__(self, shell: Shell, values: dict[str, str]) -> None:
        self._shell = shell
        self._values = values
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> None:
        self._before = {name: self._shell.variables.get(name) for name in self._values}
        self._shell.variables.update(self._values)

    def __exit__(self, *_: object) -> None:
        for name, value in self._before.items():
            if value is None:
                self._shell.variables.pop(name, None)
            else:
                self._shell.variables[name] = value


def _leaves(jump: Jump) -> bool:
    """True where this loop ends; goes on to the loop around it where that is meant."""
    if jump.levels > 1:
        raise Jump(jump.levels - 1, again=jump.again)
    return not jump.again


async def contained(interpreter: Interpreter, script: Script, *, tested: bool = False) -> int:
    """A subshell's exit code: nothing but cancellation gets out."""
    try:
        return await interpreter.script(script, tested=tested)
    except Exit as end:
        return end.code
    except Jump:
        return interpreter.shell.status
    except BrokenPipeError:
        return SIGPIPE


async def substitute(shell: Shell, script: Script) -> int:
    return await asyncio.create_task(contained(Interpreter(shell), script))
