"""`pm`, which is `cmd package`: what is installed, and what it may do."""

from __future__ import annotations

from dataclasses import replace

from .. import providers
from ..services.packages import Package
from . import pm_install, sessions
from .call import Call, Program
from .dumpsys import dumpsys
from .intents import LAUNCHER, MAIN, read_intent, short
from .permissions import CHANGEABLE, KNOWN, RUNTIME
from .pm_list import LISTS
from .service_command import (
    ILLEGAL_ARGUMENT,
    SECURITY,
    Arguments,
    Service,
    Thrown,
)

USAGE = """Package manager (package) commands:
  help
    Print this help text.
  path [--user USER_ID] PACKAGE
  dump PACKAGE
  list packages [-f] [-d] [-e] [-s] [-3] [-i] [-U] [--show-versioncode] [--user USER_ID] [FILTER]
  list permissions [-g] [-f] [-d] [-u] [GROUP]
  list features | libraries | users
  resolve-activity [--brief] [--user USER_ID] INTENT
  query-activities [--brief] [--user USER_ID] INTENT
  install [-rtfdg] [-i PACKAGE] [--user USER_ID] [-S BYTES] [PATH|-]
  install-create [-rtfdg] [-S BYTES]
  install-write [-S BYTES] SESSION_ID SPLIT_NAME [PATH|-]
  install-commit SESSION_ID
  install-abandon SESSION_ID
  uninstall [-k] [--user USER_ID] PACKAGE
  clear [--user USER_ID] PACKAGE
  enable | disable | disable-user [--user USER_ID] PACKAGE
  grant | revoke [--user USER_ID] PACKAGE PERMISSION
  get-install-location
"""
STATES = {
    "enable": "enabled",
    "default-state": "default",
    "disable": "disabled",
    "disable-user": "disabled-user",
}


def skip_user(arguments: Arguments) -> None:
    while (word := arguments.option()) is not None:
        if word == "--user":
            arguments.required()


def known(call: Call, name: str) -> Package:
    package = call.world.packages.get(name)
    if package is None:
        raise Thrown(ILLEGAL_ARGUMENT, f"Unknown package: {name}")
    return package


async def list_(call: Call, arguments: Arguments) -> int:
    kind = arguments.next()
    if kind is None:
        return await call.fail("Error: didn't specify type of data to list", 255)
    lists = LISTS.get(kind)
    if lists is None:
        return await call.fail(f"Error: unknown list type '{kind}'", 255)
    return await lists(call, arguments)


async def path(call: Call, arguments: Arguments) -> int:
    skip_user(arguments)
    package = call.world.packages.get(arguments.required())
    if package is None:
        return 1
    await call.out(f"package:{package.path}\n")
    return 0


async def clear(call: Call, arguments: Arguments) -> int:
    skip_user(arguments)
    name = arguments.next()
    if name is None:
        return await call.fail("Error: no package specified")
    world = call.world
    package = world.packages.get(name)
    if package is None:
        await call.out("Failed\n")
        return 1
    world.windows.stop_package(name)
    for posted in world.notifications.all():
        if posted.package == name:
            world.notifications.cancel(posted.key)
    sessions.remove_data(world, name)
    world.packages.put(replace(package, granted=()))
    # A provider's tables are there again as soon as somebody looks.
    providers.create_all(world)
    if app := world.apps.get(name):
        app.create(world)
    await call.out("Success\n")
    return 0


async def grant(call: Call, arguments: Arguments) -> int:
    """`grant` and `revoke`."""
    skip_user(arguments)
    name, permission = arguments.next(), arguments.next()
    if name is None:
        return await call.fail("Error: no package specified")
    if permission is None:
        return await call.fail("Error: no permission specified")
    package = known(call, name)
    if permission not in KNOWN:
        raise Thrown(ILLEGAL_ARGUMENT, f"Unknown permission: {permission}")
    if permission not in package.permissions:
        raise Thrown(SECURITY, f"Package {name} has not requested permission {permission}")
    if permission not in CHANGEABLE:
        raise Thrown(
            SECURITY,
            f"Permission {permission} requested by {name} is not a changeable permission type",
        )
    call.world.packages.grant(name, permission, allow=arguments.command == "grant")
    if arguments.command == "revoke" and permission in RUNTIME:
        # Android ends whoever loses a permission it holds.
        call.world.windows.stop_package(name)
    return 0


async def set_state(call: Call, arguments: Arguments) -> int:
    skip_user(arguments)
    name = arguments.next()
    if name is None:
        return await call.fail("Error: no package or component specified")
    state = STATES[arguments.command]
    if "/" in name:
        known(call, name.partition("/")[0])
        await call.out(f"Component {{{name}}} new state: {state}\n")
        return 0
    package = known(call, name)
    on = state in ("enabled", "default")
    call.world.packages.put(replace(package, enabled=on))
    if not on:
        call.world.windows.stop_package(name)
    await call.out(f"Package {name} new state: {state}\n")
    return 0


async def resolve_activity(call: Call, arguments: Arguments) -> int:
    """`resolve-activity` and `query-activities`: one app answers, here, if any does."""
    brief = False

    def own(word: str, rest: Arguments) -> bool:
        nonlocal brief
        brief = brief or word == "--brief"
        if word in ("--user", "--query-flags"):
            rest.required()
        return word in ("--brief", "--components", "--user", "--query-flags")

    asked = read_intent(arguments, own)
    several = arguments.command == "query-activities"
    if LAUNCHER in asked.categories and not asked.intent.action:
        asked.intent.action = MAIN
    wanted = asked.intent
    everyone = several and wanted.action == MAIN and not wanted.package
    names = [app.package for app in call.world.apps.values() if app.launcher]
    found = [
        answer
        for name in (names if everyone else [wanted.package])
        if (answer := call.world.windows.answering(replace(wanted, package=name))) is not None
    ]
    if not found:
        await call.out("No activities found\n" if several else "No activity found\n")
        return 0
    if several:
        await call.out(f"{len(found)} activities found:\n")
    for number, (package, screen) in enumerate(found):
        activity = screen.activity
        indent = "  " if several else ""
        lines = ["priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=true"]
        if brief:
            lines.append(short(package, activity))
        else:
            name = f"{package if activity.startswith('.') else ''}{activity}"
            lines += ["ActivityInfo:", f"  name={name}", f"  packageName={package}",
                      "  enabled=true exported=true directBootAware=false"]  # fmt: skip
        if several:
            await call.out(f"  Activity #{number}:\n")
            indent = "    "
        await call.out("".join(f"{indent}{line}\n" for line in lines))
    return 0


async def get_install_location(call: Call, arguments: Arguments) -> int:
    await call.out("0[auto]\n")
    return 0


async def dump(call: Call, arguments: Arguments) -> int:
    return await dumpsys(replace(call, argv=["dumpsys", "package", arguments.required()]))


SERVICE = Service(
    "package",
    {
        **pm_install.VERBS,
        "list": list_,
        "path": path,
        "clear": clear,
        "grant": grant,
        "revoke": grant,
        **dict.fromkeys(STATES, set_state),
        "resolve-activity": resolve_activity,
        "query-activities": resolve_activity,
        "get-install-location": get_install_location,
        "dump": dump,
    },
    USAGE,
)
PROGRAMS: dict[str, Program] = {"pm": SERVICE}
