"""What the console can be told: the emulator's table, as far as a simulated phone has the parts."""

from __future__ import annotations

from ..snapshots import MISSING, SnapshotError, listing
from .radio import GEO, GSM, NETWORK, POWER, SMS
from .session import Command, Refused, Session


async def _help(session: Session, args: str) -> str:
    return session.help(args)


async def _help_verbose(session: Session, args: str) -> str:
    return session.help("", verbose=True)


async def _ping(session: Session, args: str) -> str:
    return "I am alive!\r\n"


async def _auth(session: Session, args: str) -> str:
    return session.authenticate(args)


async def _quit(session: Session, args: str) -> str:
    session.over = True
    return ""


async def _kill(session: Session, args: str) -> str:
    session.phone.quit(0)
    return "OK: killing emulator, bye bye\r\n"


async def _name(session: Session, args: str) -> str:
    return f"{session.phone.avd.name}\r\n"


async def _path(session: Session, args: str) -> str:
    return f"{session.phone.avd.folder}\r\n"


async def _snapshots_path(session: Session, args: str) -> str:
    return f"{session.phone.avd.snapshots}\r\n"


async def _snapshot_path(session: Session, args: str) -> str:
    tag = args.split(" ")[0]
    if not tag:
        raise Refused("snapshot name required")
    found = tag in session.phone.snapshots.tags()
    return f"{session.phone.avd.snapshots / tag}\r\n" if found else "NO_SNAPSHOT\r\n"


async def _discovery_path(session: Session, args: str) -> str:
    return f"{session.phone.discovery_path()}\r\n"


async def _status(session: Session, args: str) -> str:
    return f"virtual device is {'running' if session.phone.running else 'stopped'}\r\n"


async def _heartbeat(session: Session, args: str) -> str:
    return f"heartbeat: {session.phone.heartbeat()}\r\n"


async def _stop(session: Session, args: str) -> str:
    if not session.phone.running:
        raise Refused("virtual device already stopped")
    session.phone.stop_guest()
    return ""


async def _start(session: Session, args: str) -> str:
    if session.phone.running:
        raise Refused("virtual device already running")
    session.phone.start_guest()
    return ""


async def _pause(session: Session, args: str) -> str:
    if session.phone.running:
        session.phone.stop_guest()
    return ""


async def _resume(session: Session, args: str) -> str:
    if not session.phone.running:
        session.phone.start_guest()
    return ""


async def _grpc(session: Session, args: str) -> str:
    raise Refused("Failed to launch gRPC service")


async def _window_type(session: Session, args: str) -> str:
    return "windowtype=headless\r\n"


def _changing(session: Session, verb: str, args: str, hint: str) -> str:
    """The tag, where this emulator may change snapshots at all."""
    if session.phone.options.read_only:
        raise Refused(f'Snapshot {verb} is disabled because "-read-only" was specified')
    if not args:
        raise Refused(f"Argument missing, try 'avd snapshot {hint} <name>'")
    return args


async def _list(session: Session, args: str) -> str:
    return listing(session.phone.snapshots.list())


async def _save(session: Session, args: str) -> str:
    tag = _changing(session, "save", args, "save")
    try:
        async with session.phone.standstill:
            session.phone.save_snapshot(tag)
    except SnapshotError as error:
        raise Refused(f"Snapshot save failure: {error.reason}") from error
    return ""


async def _load(session: Session, args: str) -> str:
    tag = _changing(session, "load", args, "load")
    try:
        await session.phone.load_snapshot(tag)
    except SnapshotError as error:
        first = (
            f"Device 'cache' does not have the requested snapshot '{tag}'"
            if error.reason == MISSING
            else "Error -22 from the snapshot callback"
        )
        lines = [first, f"Snapshot load failure: {error.reason}"]
        if error.fatal:
            session.phone.stop_guest()
            lines.append("fatal error, VM stopped.")
        raise Refused(*lines) from error
    return ""


async def _delete(session: Session, args: str) -> str:
    tag = _changing(session, "delete", args, "list")
    try:
        async with session.phone.standstill:
            session.phone.snapshots.delete(tag)
    except SnapshotError as error:
        raise Refused(f"Snapshot delete failure: {error.reason}") from error
    return ""


async def _get(session: Session, args: str) -> str:
    return f"{session.phone.loaded or '(null)'}\r\n"


_SNAPSHOT = (
    Command("list", "list available state snapshots", _list),
    Command("save", "save state snapshot", _save),
    Command("load", "load state snapshot", _load),
    Command("del", "delete state snapshot", _delete),
    Command("delete", "delete state snapshot", _delete),
    Command("get", "query the last loaded snapshot", _get),
)
_AVD_NAME = Command("name", "query virtual device name", _name)
_AVD_GRPC = Command("grpc", "query the grpc endpoint", _grpc)
_AVD = (
    Command("stop", "stop the virtual device", _stop),
    Command("start", "start/restart the virtual device", _start),
    Command("status", "query virtual device status", _status),
    Command("heartbeat", "query the heart beat number of the guest system", _heartbeat),
    _AVD_NAME,
    Command("snapshot", "state snapshot commands", commands=_SNAPSHOT, description=(
        "allows you to save and restore the virtual device state in snapshots\r\n")),
    Command("pause", "pause the virtual device", _pause),
    Command("resume", "resume the virtual device", _resume),
    Command("id", "query virtual device ID", _name),
    Command("windowtype", "query virtual device headless or qtwindow", _window_type),
    Command("path", "query AVD path", _path),
    Command("discoverypath", "query AVD discovery path", _discovery_path),
    Command("snapshotspath", "query AVD snapshots path", _snapshots_path),
    Command("snapshotpath", "query path to a particular AVD snapshot", _snapshot_path),
    _AVD_GRPC,
)  # fmt: skip
_AVD_DESCRIPTION = "allows you to control (e.g. start/stop) the execution of the virtual device\r\n"
_ABSTRACT = "control virtual device execution"

_HELP = Command("help|h|?", "print a list of commands", _help, steady=True)
_VERBOSE = Command(
    "help-verbose", "print a list of commands with descriptions", _help_verbose, steady=True
)
_PING = Command("ping", "check if the emulator is alive", _ping)
_QUIT = Command("quit|exit", "quit control session", _quit, steady=True)

BEFORE_AUTH: tuple[Command, ...] = (
    _HELP,
    _VERBOSE,
    _PING,
    Command("avd", _ABSTRACT, commands=(_AVD_NAME, _AVD_GRPC), description=_AVD_DESCRIPTION),
    Command("auth", "user authentication for the emulator console", _auth, description=(
        "use 'auth <auth_token>' to get extended console functionality\r\n"), steady=True),
    _QUIT,
)  # fmt: skip
COMMANDS: tuple[Command, ...] = (
    _HELP,
    _VERBOSE,
    _PING,
    GEO,
    GSM,
    Command("kill", "kill the emulator instance", _kill),
    NETWORK,
    POWER,
    _QUIT,
    SMS,
    Command("avd", _ABSTRACT, commands=_AVD, description=_AVD_DESCRIPTION),
    # A script that authenticates where no token is wanted must not fail on it.
    Command("auth", "user authentication for the emulator console", _auth, steady=True),
)
