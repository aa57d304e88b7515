"""Which streams does a command get? Its redirections, opened in order."""

from __future__ import annotations

from ..programs.opening import close, open_sink, open_source, reason
from ..streams import Fixed, Sink, Source
from .expand import Expander
from .input import Input
from .state import Shell
from .syntax import Redirect


class RedirectError(Exception):
    """A file cannot be opened: the command does not run. The text is what the shell prints."""


class Redirected:
    """The files of a shell with redirections applied; `restore` closes what was opened."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._before = dict(shell.files)
        self._opened: list[Source | Sink] = []

    async def apply(self, redirects: tuple[Redirect, ...], expander: Expander) -> None:
        for redirect in redirects:
            target = await expander.text(redirect.target)
            try:
                self._one(redirect.fd, redirect.operator, target)
            except OSError as error:
                verb = "open" if redirect.operator == "<" else "create"
                raise RedirectError(f"can't {verb} {target}: {reason(error)}") from None

    def _one(self, fd: int, operator: str, target: str) -> None:
        shell = self._shell
        files = shell.files
        match operator:
            case "<":
                source = open_source(shell.call([""]), target)
                self._opened.append(source)
                files[fd] = source if isinstance(source, Input) else Input(source)
            case ">" | ">|":
                files[fd] = self._sink(target, append=False)
            case ">>":
                files[fd] = self._sink(target, append=True)
            case "&>":
                files[1] = files[2] = self._sink(target, append=False)
            case "<&" | ">&":
                self._duplicate(fd, operator, target)
            case "<<":
                files[fd] = Input(Fixed(_bytes(target)))
            case "<<<":
                files[fd] = Input(Fixed(_bytes(target + "\n")))

    def _duplicate(self, fd: int, operator: str, target: str) -> None:
        files = self._shell.files
        if target == "-":
            files[fd] = Closed()
        elif target.isdigit():
            if int(target) not in files:
                raise RedirectError(f"{operator}{target}: bad file descriptor")
            files[fd] = files[int(target)]
        elif operator == ">&":
            files[1] = files[2] = self._sink(target, append=False)
        else:
            raise RedirectError(f"{operator}{target}: illegal file descriptor name")

    def _sink(self, target: str, *, append: bool) -> Sink:
        sink = open_sink(self._shell.call([""]), target, append=append)
        self._opened.append(sink)
        return sink

    def keep(self) -> None:
        """`exec >file`: open until the shell ends."""
        self._shell.kept += self._opened

    def restore(self) -> None:
        self._shell.files = self._before
        for stream in self._opened:
            close(stream)


class Closed:
    """A descriptor after `>&-`: it gives nothing and takes nothing."""

    async def read(self, limit: int = 0) -> bytes:
        return b""

    async def write(self, data: bytes) -> None:
        raise OSError(9, "Bad file descriptor")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
