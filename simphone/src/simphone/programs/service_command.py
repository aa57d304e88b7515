"""How a system service reads a shell command: word by word, and how it fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from .call import Call
from .framework import NO_SERVICE, needs_service

# A service returns -1, which a shell sees so.
FAILURE = 255
ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
SECURITY = "java.lang.SecurityException"


class Thrown(Exception):
    """A Java exception that leaves the service: its class, its message, where it was thrown."""

    def __init__(self, kind: str, message: str, *frames: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.frames = frames


class Arguments:
    """The words after the command, taken from the left."""

    def __init__(self, words: Sequence[str]) -> None:
        self.command = words[0]
        self._words = list(words)
        self._at = 1

    def peek(self) -> str | None:
        return self._words[self._at] if self._at < len(self._words) else None

    def next(self) -> str | None:
        word = self.peek()
        self._at += word is not None
        return word

    def option(self) -> str | None:
        """The next word if it is an option; `--` ends them."""
        word = self.peek()
        if word is None or not word.startswith("-") or word == "-":
            return None
        self._at += 1
        return None if word == "--" else word

    def required(self) -> str:
        word = self.next()
        if word is None:
            last = self._words[self._at - 1]
            raise Thrown(ILLEGAL_ARGUMENT, f'Argument expected after "{last}"')
        return word

    def rest(self) -> list[str]:
        words = self._words[self._at :]
        self._at = len(self._words)
        return words


Verb = Callable[[Call, Arguments], Awaitable[int]]


async def nothing(call: Call, arguments: Arguments) -> int:
    """A verb for what this phone has not got: accepted, without a word."""
    return 0


@dataclass(frozen=True)
class Service:
    """One service's commands: a program, whether reached as `cmd NAME` or by its own script."""

    name: str
    verbs: Mapping[str, Verb]
    usage: str = ""

    async def __call__(self, call: Call) -> int:
        if not await needs_service(call, self.name):
            return NO_SERVICE
        await call.world.noise.lag()
        call.world.tick()
        call = replace(call, argv=[call.name, *call.java_args])
        command = call.args[0] if call.args else None
        if command in (None, "help", "-h"):
            await call.out(self.usage or f"{self.name} service commands:\n  help\n")
            return FAILURE
        assert command is not None
        verb = self.verbs.get(command)
        if verb is None:
            await call.out(f"Unknown command: {command}\n")
            return FAILURE
        try:
            return await verb(call, Arguments(call.args))
        except Thrown as thrown:
            return await threw(call, command, thrown)


async def threw(call: Call, command: str, thrown: Thrown) -> int:
    trace = "".join(
        f"\tat {frame}\n"
        for frame in (
            *thrown.frames,
            "com.android.modules.utils.BasicShellCommandHandler.exec(BasicShellCommandHandler.java:97)",
            "android.os.ShellCommand.exec(ShellCommand.java:38)",
            "android.os.Binder.shellCommand(Binder.java:1054)",
            "android.os.Binder.onTransact(Binder.java:882)",
        )
    )
    head = f"\nException occurred while executing '{command}':\n"
    await call.err(f"{head}{thrown.kind}: {thrown.message}\n{trace}")
    return FAILURE
