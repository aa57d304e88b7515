"""Decides whether a command agent can be confined here, and with what view of the host.

Confined it has its own processes, its own loopback, and of the files only the system's, its
interpreter's and its own folder, all read-only, and its working folder. Whether this host allows
that is found by trying it once, with the agent's own view.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from . import confined_start

TRY_S = 30.0
TOOLS = ("bwrap", "slirp4netns")
INSTALL = "install bubblewrap and slirp4netns (Debian: apt-get install bubblewrap slirp4netns)"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_CLOSED_STORES = ("/nix/store", "/gnu/store")
# What programs need to find libraries, names, certificates and the time.
_ETC = (
    "alternatives", "ca-certificates", "crypto-policies", "fonts", "gai.conf", "group",
    "host.conf", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types",
    "nsswitch.conf", "passwd", "pki", "protocols", "python3", "services", "ssl",
)  # fmt: skip
_DEVICES = ("null", "zero", "full", "random", "urandom")
_NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
    "--die-with-parent", "--cap-drop", "ALL",
)  # fmt: skip
_MOST_LINKS = 40
_RESOLVERS = (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf"))


@dataclass(frozen=True)
class Confinement:
    """How agents of one command are confined; `bwrap` is without what differs by attempt."""

    bwrap: tuple[str, ...]
    slirp4netns: str
    ports: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        return {"confined": True, "ports": list(self.ports)}

    @property
    def sentence(self) -> str:
        opened = ", ".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"the agent is confined; it reaches {opened or 'no port of this host'}"

    def words(self, home: str, command: Sequence[str]) -> list[str]:
        """The command line that runs the command in its working folder."""
        settings = {
            "bwrap": [*self.bwrap, "--bind", home, home, "--chdir", home],
            "slirp4netns": self.slirp4netns,
            "resolv_conf": resolv_conf(_RESOLVERS),
            "ports": self.ports,
        }
        program = [sys.executable, "-I", "-S", confined_start.__file__]
        return [*program, json.dumps(settings), *command]


@dataclass(frozen=True)
class Unconfined:
    """The agent runs with all the rights of the worker's own user."""

    why: str
    ports: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"confined": False, "why": self.sentence, "ports": list(self.ports)}

    @property
    def sentence(self) -> str:
        return (
            f"a command agent runs unconfined here ({self.why}), so that it can reach its phone's "
            f"adb and this user's files and processes; {INSTALL}"
        )


@cache
def confinement(
    command: tuple[str, ...], hidden: tuple[Path, ...] = (), ports: tuple[int, ...] = ()
) -> Confinement | Unconfined:
    """Of this command on this host. `hidden`: folders that it must not see, wherever they are."""
    found = {name: shutil.which(name) for name in TOOLS}
    if missing := [name for name, path in found.items() if path is None]:
        return Unconfined(f"there is no {' and no '.join(missing)}", ports)
    view = (*_NAMESPACES, *view_options(shown(command), (*hidden, Path(tempfile.gettempdir()))))
    made = Confinement((str(found["bwrap"]), *view), str(found["slirp4netns"]), ports)
    why = _tried(made)
    return made if why is None else Unconfined(why, ports)


def _tried(made: Confinement) -> str | None:
    """Why it does not work here; None where it does. The ports are another matter: two workers that
    try at the same time have two loopbacks."""
    with tempfile.TemporaryDirectory(prefix="agent-") as home:
        try:
            done = subprocess.run(
                made.words(home, ["/bin/sh", "-c", ":"]), check=False, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, errors="replace", timeout=TRY_S,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if done.returncode == 0:
        return None
    return " ".join(done.stderr.split())[:300] or f"exit code {done.returncode}"


def shown(command: Sequence[str]) -> list[Path]:
    """What the command needs beside the system: its program's installation and its files' folders,
    each also where a link leads."""
    found: set[Path] = set()
    for program in _programs(command):
        for path in _links(program):
            found.add(_installation(path))
    for word in command[1:]:
        if Path(word).is_file():
            found |= {_folder(path) for path in _links(Path(word).absolute())}
    return sorted(path for path in found if not any(map(path.is_relative_to, _SYSTEM)))


def _programs(command: Sequence[str]) -> Iterator[Path]:
    """The program, the interpreter that its first line names, and a virtual environment's own."""
    program = Path(command[0]).absolute()
    yield program
    interpreter = _interpreter(program)
    if interpreter is not None:
        yield interpreter
    for each in (program, interpreter or program):
        base = _base_of_environment(each.parent.parent / "pyvenv.cfg")
        if base is not None:
            yield base


def _interpreter(program: Path) -> Path | None:
    try:
        with program.open("rb") as file:
            words = file.readline(500).decode("utf-8", "replace").removeprefix("#!").split()
            if file.seek(0) or file.read(2) != b"#!" or not words:
                return None
    except OSError:
        return None
    if Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    found = shutil.which(words[0]) if words else None
    return Path(found) if found else None


def _base_of_environment(config: Path) -> Path | None:
    """The Python that a virtual environment was made with."""
    try:
        for line in config.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "home":
                return Path(value.strip()) / "python3"
    except OSError:
        pass
    return None


def _links(path: Path) -> Iterator[Path]:
    """The path, and each that it leads to."""
    for _ in range(_MOST_LINKS):
        yield path
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))


def _installation(program: Path) -> Path:
    """The folder above `bin`, where libraries are beside it, or above the `shims` of a version
    manager such as pyenv; else the program's own."""
    prefix, kind = program.parent.parent, program.parent.name
    whole = kind == "shims" or (kind == "bin" and (prefix / "lib").is_dir())
    if whole and not _wide(prefix):
        return prefix
    return _folder(program)


def _folder(file: Path) -> Path:
    """The file's folder, or the file alone where its folder holds what is not the agent's."""
    return file if _wide(file.parent) else file.parent


def _wide(folder: Path) -> bool:
    """Whether it is a home, or what everybody writes to, or above such a folder."""
    home = Path.home()
    return any(
        each.is_relative_to(folder)
        for each in (home, home / ".local", Path(tempfile.gettempdir()), Path("/tmp"), Path("/etc"))
    )


def view_options(shown: Iterable[Path], hidden: Iterable[Path]) -> Iterator[str]:
    """The options of bubblewrap that make the agent's files."""
    for name in _SYSTEM:
        if Path(name).is_symlink():
            yield from ("--symlink", str(Path(name).readlink()), name)
        elif Path(name).is_dir():
            yield from ("--ro-bind", name, name)
    for name in (*_CLOSED_STORES, *(f"/etc/{name}" for name in _ETC)):
        yield from ("--ro-bind-try", name, name)
    # Not --dev: it makes a second user namespace, whose network slirp4netns cannot enter.
    yield from ("--proc", "/proc", "--tmpfs", "/dev", "--tmpfs", "/dev/shm")
    for name in _DEVICES:
        yield from ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
    yield from ("--symlink", "/proc/self/fd", "/dev/fd", "--tmpfs", "/tmp")
    opened = sorted(shown)
    for path in opened:
        yield from ("--ro-bind", str(path), str(path))
    for path in sorted(each.absolute() for each in hidden):
        holds = any(each.is_relative_to(path) for each in opened)
        if path.is_dir() and not holds and any(path.is_relative_to(each) for each in opened):
            yield from ("--tmpfs", str(path))


def resolv_conf(resolvers: Iterable[Path]) -> str:
    """Name servers that are reached without the host's loopback: of the first file that has one."""
    for file in resolvers:
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        servers = [line.split()[1] for line in lines if line.startswith("nameserver ")]
        if outside := [server for server in servers if _is_outside(server)]:
            return "".join(f"nameserver {server}\n" for server in outside)
    return ""


def _is_outside(server: str) -> bool:
    try:
        address = ip_address(server)
    except ValueError:
        return False
    return address.version == 4 and not address.is_loopback
