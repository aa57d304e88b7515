"""What a program on the phone is given, and what it gives back: an exit code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ..processes import SHELL
from ..streams import Sink, Source, read_all
from ..world import World


@dataclass
class Call:
    """One program's run. Text in and out is UTF-8; undecodable bytes survive a round trip."""

    world: World
    argv: list[str]  # with the program's own name first
    stdin: Source
    stdout: Sink
    stderr: Sink
    uid: int = SHELL
    cwd: str = "/"
    env: dict[str, str] = field(default_factory=dict)
    tty: bool = False  # stdout is a terminal
    pid: int = 1  # of the process it runs as

    @property
    def name(self) -> str:
        return self.argv[0]

    @property
    def args(self) -> list[str]:
        return self.argv[1:]

    @property
    def java_args(self) -> list[str]:
        """The arguments as Java and SQL read them: what is not UTF-8 is replaced on the way in."""
        raw = (arg.encode("utf-8", "surrogateescape") for arg in self.args)
        return [arg.decode("utf-8", "replace") for arg in raw]

    async def out(self, text: str) -> None:
        """Text as it is: the caller ends its lines."""
        await self.stdout.write(text.encode("utf-8", "surrogateescape"))

    async def err(self, text: str) -> None:
        await self.stderr.write(text.encode("utf-8", "surrogateescape"))

    async def fail(self, text: str, code: int = 1) -> int:
        """One line on stderr, and the code to return."""
        await self.err(text + "\n")
        return code

    async def input(self) -> str:
        return (await read_all(self.stdin)).decode("utf-8", "surrogateescape")


Program = Callable[[Call], Awaitable[int]]
