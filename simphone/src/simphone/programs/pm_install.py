"""`pm install` and its sessions, and `pm uninstall`."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..apk import BadApk, read
from ..streams import Source
from . import sessions
from .call import Call
from .opening import FileSource
from .service_command import ILLEGAL_ARGUMENT, Arguments, Thrown, Verb
from .sessions import InstallFailed, Wishes

# Options that take a word.
VALUED = (
    "-i", "-p", "-S", "--user", "--abi", "--install-location", "--install-reason", "--pkg",
    "--force-uuid", "--originating-uri", "--referrer", "--split", "--update-ownership-of",
    "--rollback-data-policy", "--staged-ready-timeout", "--dexopt-compiler-filter",
)  # fmt: skip
FLAGS = (
    "-r", "-t", "-g", "-d", "-f", "-l", "-s", "-R", "-F", "-k", "--full", "--instant",
    "--dont-kill", "--force-queryable", "--restrict-permissions", "--no-restrict-permissions",
    "--preload", "--staged", "--force-sdk", "--apex", "--multi-package", "--enable-rollback",
    "--skip-verification", "--bypass-low-target-sdk-block", "--skip-enable", "--versionCode",
    "--request-downgrade", "--allow-downgrade", "--no-wait", "--wait", "--non-staged",
    "--ignore-dexopt-profile", "--package-source",
)  # fmt: skip


@dataclass
class Options:
    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int | None:
        text = self.values.get("-S")
        if text is None:
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise Thrown("java.lang.NumberFormatException", f'For input string: "{text}"')
        return int(text)

    @property
    def wishes(self) -> Wishes:
        lower = {"-d", "--request-downgrade", "--allow-downgrade"}
        return Wishes("-g" in self.flags, bool(self.flags & lower), self.values.get("-i", ""))


def read_options(arguments: Arguments) -> Options:
    options = Options()
    while (word := arguments.option()) is not None:
        if word in VALUED:
            options.values[word] = arguments.required()
        elif word in FLAGS:
            options.flags.add(word)
        else:
            raise Thrown(ILLEGAL_ARGUMENT, f"Unknown option {word}")
    return options


async def failed(call: Call, error: InstallFailed) -> int:
    await call.out(f"Failure [{error}]\n")
    return 1


async def install(call: Call, arguments: Arguments) -> int:
    options = read_options(arguments)
    path = arguments.next()
    size = options.size
    if path in (None, "-") and size is None:
        await call.err("Error: must either specify a package size or an APK file\n")
        return 1
    source: Source = call.stdin
    if path not in (None, "-") and size is None:
        assert path is not None
        source = await opened(call, path)
    world = call.world
    session = sessions.create(world, options.wishes)
    try:
        await sessions.stage(world, session, "base.apk", source, size)
        package = await sessions.commit(world, session)
    except InstallFailed as error:
        return await failed(call, error)
    finally:
        sessions.abandon(world, session)
        if isinstance(source, FileSource):
            source.close()
    world.windows.stop_package(package.name)
    await call.out("Success\n")
    return 0


async def opened(call: Call, path: str) -> FileSource:
    """The file to install; the size of what it holds is read before any session is made."""
    disk = call.world.disk
    try:
        source = FileSource(disk.open(path, call.uid, call.cwd))
    except OSError:
        await call.err(
            f"Error: Unable to open file: {path}\nConsider using a file under /data/local/tmp/\n"
            f"Error: Can't open file: {path}\n"
        )
        raise Thrown(ILLEGAL_ARGUMENT, f"Error: Can't open file: {path}") from None
    try:
        read(disk.readable(path, call.uid, call.cwd))
    except BadApk:
        source.close()
        await call.err(f"Error: Failed to parse APK file: {path}\n")
        raise Thrown(ILLEGAL_ARGUMENT, f"Error: Failed to parse APK file: {path}") from None
    return source


def session_id(call: Call, arguments: Arguments) -> int:
    word = arguments.required()
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 12 else -1
    if number < 0 or not sessions.exists(call.world, number):
        raise Thrown("java.lang.SecurityException", f"Caller has no access to session {word}")
    return number


async def install_create(call: Call, arguments: Arguments) -> int:
    session = sessions.create(call.world, read_options(arguments).wishes)
    await call.out(f"Success: created install session [{session}]\n")
    return 0


async def install_write(call: Call, arguments: Arguments) -> int:
    options = read_options(arguments)
    session = session_id(call, arguments)
    name = arguments.required()
    path = arguments.next() or "-"
    if not name or "/" in name or name in (".", ".."):
        raise Thrown(ILLEGAL_ARGUMENT, f"Invalid name: {name}")
    if path == "-" and options.size is None:
        await call.err("Error: must specify a APK size\n")
        return 1
    source = call.stdin if path == "-" else await opened(call, path)
    try:
        taken = await sessions.stage(call.world, session, name, source, options.size)
    except InstallFailed as error:
        return await failed(call, error)
    finally:
        if isinstance(source, FileSource):
            source.close()
    await call.out(f"Success: streamed {taken} bytes\n")
    return 0


async def install_commit(call: Call, arguments: Arguments) -> int:
    read_options(arguments)
    session = session_id(call, arguments)
    try:
        package = await sessions.commit(call.world, session)
    except InstallFailed as error:
        return await failed(call, error)
    call.world.windows.stop_package(package.name)
    await call.out("Success\n")
    return 0


async def install_abandon(call: Call, arguments: Arguments) -> int:
    sessions.abandon(call.world, session_id(call, arguments))
    await call.out("Success\n")
    return 0


async def uninstall(call: Call, arguments: Arguments) -> int:
    options = read_options(arguments)
    name = arguments.next()
    if name is None:
        return await call.fail("Error: package name not specified")
    package = call.world.packages.get(name)
    if package is None or package.system:
        await call.out("Failure [DELETE_FAILED_INTERNAL_ERROR]\n")
        return 1
    call.world.windows.stop_package(name)
    call.world.packages.remove(name)
    sessions.remove_code(call.world, package)
    if "-k" not in options.flags:
        sessions.remove_data(call.world, name)
    await call.out("Success\n")
    return 0


VERBS: dict[str, Verb] = {
    "install": install,
    "install-create": install_create,
    "install-write": install_write,
    "install-commit": install_commit,
    "install-abandon": install_abandon,
    "uninstall": uninstall,
}
