"""`cmd appops`: what each app may do, beside and above its permissions."""

from __future__ import annotations

import json

from ..services.packages import Package
from ..world import World
from .call import Call, Program
from .service_command import FAILURE, Arguments, Service

FILE = "/data/system/appops.json"
ALLOW, IGNORE, DEFAULT = "allow", "ignore", "default"
MODES = (ALLOW, IGNORE, "deny", DEFAULT, "foreground")
# Operations that follow a runtime permission. Their own default is to allow.
GUARDED = {
    "COARSE_LOCATION": "ACCESS_COARSE_LOCATION", "FINE_LOCATION": "ACCESS_FINE_LOCATION",
    "POST_NOTIFICATION": "POST_NOTIFICATIONS",
    **{name: name for name in (
        "ACTIVITY_RECOGNITION", "ANSWER_PHONE_CALLS", "BLUETOOTH_CONNECT", "BLUETOOTH_SCAN",
        "BODY_SENSORS", "CALL_PHONE", "CAMERA", "GET_ACCOUNTS", "READ_CALENDAR", "READ_CALL_LOG",
        "READ_CONTACTS", "READ_EXTERNAL_STORAGE", "READ_MEDIA_AUDIO", "READ_MEDIA_IMAGES",
        "READ_MEDIA_VIDEO", "READ_PHONE_NUMBERS", "READ_PHONE_STATE", "READ_SMS", "RECEIVE_SMS",
        "RECORD_AUDIO", "SEND_SMS", "WRITE_CALENDAR", "WRITE_CALL_LOG", "WRITE_CONTACTS",
        "WRITE_EXTERNAL_STORAGE",
    )},
}  # fmt: skip
# What an app has to be given by hand is `default`: the app's permission then decides.
OPERATIONS = {
    **dict.fromkeys(GUARDED, ALLOW),
    **dict.fromkeys(
        ("GET_USAGE_STATS", "MANAGE_EXTERNAL_STORAGE", "REQUEST_INSTALL_PACKAGES",
         "SCHEDULE_EXACT_ALARM", "SYSTEM_ALERT_WINDOW", "WRITE_SETTINGS"), DEFAULT,
    ),
    **dict.fromkeys(
        ("PICTURE_IN_PICTURE", "READ_CLIPBOARD", "RUN_ANY_IN_BACKGROUND", "RUN_IN_BACKGROUND",
         "START_FOREGROUND", "TOAST_WINDOW", "VIBRATE", "WAKE_LOCK", "WRITE_CLIPBOARD"), ALLOW,
    ),
}  # fmt: skip


def stored(world: World) -> dict[str, dict[str, str]]:
    """By package, the modes that somebody set."""
    path = world.disk.own(FILE)
    try:
        return dict(json.loads(path.read_bytes())) if path.is_file() else {}
    except ValueError:
        return {}  # root wrote over it: nothing is set


def lines(world: World, package: Package, names: list[str]) -> list[str]:
    """A mode of the whole user id first; what is as it would be anyway is not printed."""
    refused = [
        name
        for name in names
        if (permission := f"android.permission.{GUARDED.get(name, '')}") in package.permissions
        and permission not in package.granted
    ]
    own = stored(world).get(package.name, {})
    told = [f"Uid mode: {name}: {IGNORE}" for name in refused]
    return told + [f"{name}: {own[name]}" for name in names if name in own]


async def get(call: Call, arguments: Arguments) -> int:
    package = await found(call, arguments)
    op = arguments.next()
    if package is None or (op is not None and not await known(call, op)):
        return FAILURE
    told = lines(call.world, package, list(OPERATIONS) if op is None else [op])
    if not told:
        told = ["No operations."] + ([] if op is None else [f"Default mode: {OPERATIONS[op]}"])
    await call.out("".join(f"{line}\n" for line in told))
    return 0


async def set_(call: Call, arguments: Arguments) -> int:
    package = await found(call, arguments)
    op, mode = arguments.required(), arguments.required()
    if package is None or not await known(call, op):
        return FAILURE
    if mode not in MODES:
        return await call.fail(f"Error: Mode {mode} is not valid,", FAILURE)
    modes = stored(call.world)
    modes.setdefault(package.name, {})[op] = mode
    if mode == OPERATIONS[op]:
        del modes[package.name][op]
    call.world.disk.own(FILE).write_text(json.dumps(modes))
    return 0


async def found(call: Call, arguments: Arguments) -> Package | None:
    while (option := arguments.option()) is not None:
        if option == "--user":
            arguments.required()
    name = arguments.required()
    package = call.world.packages.get(name)
    if package is None:
        await call.err(f"Error: No UID for {name} in user 0\n")
    return package


async def known(call: Call, op: str) -> bool:
    if op not in OPERATIONS:
        await call.err(f"Error: Unknown operation string: {op}\n")
    return op in OPERATIONS


SERVICE = Service("appops", {"get": get, "set": set_})
PROGRAMS: dict[str, Program] = {"appops": SERVICE}
