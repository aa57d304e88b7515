"""What a running shell knows: variables, where it stands, its open files, its jobs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from ..processes import SHELL
from ..programs.call import Call
from ..streams import Sink, Source
from ..world import World
from .syntax import Command

if TYPE_CHECKING:
    from .launch import Job

PATH = (
    "/product/bin:/apex/com.android.runtime/bin:/apex/com.android.art/bin:/system_ext/bin"
    ":/system/bin:/system/xbin:/odm/bin:/vendor/bin:/vendor/xbin"
)
NAME = "/system/bin/sh"
DEFAULT_IFS = " \t\n"


def environment(uid: int, *, tty: bool = False) -> dict[str, str]:
    """What adbd gives a shell."""
    user = "root" if uid == 0 else "shell"
    values = {
        "ANDROID_BOOTLOGO": "1",
        "ANDROID_ROOT": "/system",
        "ANDROID_ASSETS": "/system/app",
        "ANDROID_DATA": "/data",
        "ANDROID_STORAGE": "/storage",
        "EXTERNAL_STORAGE": "/sdcard",
        "HOME": "/",
        "HOSTNAME": "emu64xa",
        "LOGNAME": user,
        "PATH": PATH,
        "SHELL": "/bin/sh",
        "TMPDIR": "/data/local/tmp",
        "USER": user,
    }
    return values | ({"TERM": "xterm-256color"} if tty else {})


@dataclass
class Shell:
    world: World
    files: dict[int, Source | Sink]
    variables: dict[str, str]
    exported: set[str]
    uid: int = SHELL
    cwd: str = "/"
    name: str = NAME
    positional: list[str] = field(default_factory=list)
    pid: int = 0
    status: int = 0
    last_job: int = 0
    options: set[str] = field(default_factory=set)
    functions: dict[str, Command] = field(default_factory=dict)
    depth: int = 0  # of eval, functions and sourced files
    scopes: list[dict[str, str | None]] = field(default_factory=list)  # what `local` hides
    umask: int = 0o22
    tty: bool = False
    jobs: dict[int, Job] = field(default_factory=dict)  # this shell's own, by pid
    # Shared with its subshells: what ends, and is closed, when the shell itself ends.
    family: set[Job] = field(default_factory=set)
    kept: list[Source | Sink] = field(default_factory=list)

    def fork(self) -> Shell:
        """A subshell: sees everything, changes nothing here."""
        return replace(
            self,
            files=dict(self.files),
            variables=dict(self.variables),
            exported=set(self.exported),
            positional=list(self.positional),
            options=set(self.options),
            functions=dict(self.functions),
            scopes=[dict(scope) for scope in self.scopes],
            jobs={},
        )

    def call(self, argv: list[str], extra: dict[str, str] | None = None) -> Call:
        """A program's run with this shell's files and exported variables."""
        env = {name: self.variables[name] for name in self.exported if name in self.variables}
        return Call(
            self.world,
            argv,
            source(self.files[0]),
            sink(self.files[1]),
            sink(self.files[2]),
            self.uid,
            self.cwd,
            env | (extra or {}),
            self.tty,
        )

    async def out(self, text: str) -> None:
        await sink(self.files[1]).write(text.encode("utf-8", "surrogateescape"))

    async def complain(self, text: str) -> None:
        message = f"{self.name}: {text}\n"
        await sink(self.files[2]).write(message.encode("utf-8", "surrogateescape"))

    def get(self, name: str) -> str | None:
        """A parameter's value, None where it is unset; `@` and `*` are the caller's affair."""
        if name.isdigit():
            index = int(name[:9])
            if index == 0:
                return self.name
            return self.positional[index - 1] if index <= len(self.positional) else None
        match name:
            case "?":
                return str(self.status)
            case "$":
                return str(self.pid)
            case "#":
                return str(len(self.positional))
            case "!":
                return str(self.last_job) if self.last_job else ""
            case "-":
                return "".join(sorted(self.options))
            case "PWD":
                return self.cwd
            case "RANDOM":
                return str(int.from_bytes(os.urandom(2), "big") & 0x7FFF)
            case "SECONDS":
                return str(int(self.world.clock.uptime()))
            case "EPOCHREALTIME":
                return f"{self.world.clock.now():.6f}"
        return self.variables.get(name)

    def held(self) -> int:
        """Characters in variables and arguments, hidden ones too."""
        hidden = (value or "" for scope in self.scopes for value in scope.values())
        return sum(map(len, (*self.variables.values(), *self.positional, *hidden)))

    def put(self, name: str, value: str) -> None:
        self.variables[name] = value
        if "a" in self.options:
            self.exported.add(name)


class BadDescriptor(Exception):
    """A file is open, but not for what it is used for."""


def source(stream: Source | Sink) -> Source:
    if not hasattr(stream, "read"):
        raise BadDescriptor
    return cast(Source, stream)


def sink(stream: Source | Sink) -> Sink:
    if not hasattr(stream, "write"):
        raise BadDescriptor
    return cast(Sink, stream)
