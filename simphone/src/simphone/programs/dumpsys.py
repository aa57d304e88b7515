"""`dumpsys`: what the system services say of themselves."""

from __future__ import annotations

from collections.abc import Callable

from ..system import has_service, services
from ..world import World
from . import dumpsys_device as device
from . import dumpsys_package, dumpsys_window
from .call import Call, Program

Dump = Callable[[World, list[str]], str]

DUMPS: dict[str, Dump] = {
    "SurfaceFlinger": device.surface_flinger,
    "activity": dumpsys_window.activity,
    "alarm": device.alarm,
    "appops": device.appops,
    "audio": device.audio,
    "battery": device.battery,
    "bluetooth_manager": device.bluetooth,
    "clipboard": device.clipboard,
    "connectivity": device.connectivity,
    "cpuinfo": device.cpuinfo,
    "display": device.display,
    "gfxinfo": device.gfxinfo,
    "input": device.input_,
    "input_method": device.input_method,
    "location": device.location,
    "meminfo": device.meminfo,
    "notification": dumpsys_package.notification,
    "package": dumpsys_package.package,
    "power": device.power,
    "telephony.registry": device.telephony_registry,
    "wifi": device.wifi,
    "window": dumpsys_window.window,
}
# Dumps of services that nobody calls, so `service list` does not show them.
UNLISTED = ("cpuinfo", "gfxinfo")
USAGE = """usage: dumpsys
         To dump all services.
or:
       dumpsys [-t TIMEOUT] [--priority LEVEL] [--clients] [--dump] [--pid] [--thread] [--help | \
-l | --skip SERVICES | SERVICE [ARGS]]
         --help: shows this help
         -l: only list services, do not dump them
         -t TIMEOUT_SEC: TIMEOUT to use in seconds instead of default 10 seconds
         -T TIMEOUT_MS: TIMEOUT to use in milliseconds instead of default 10 seconds
         SERVICE [ARGS]: dumps only service SERVICE, optionally passing ARGS to it
"""


def running(world: World) -> list[str]:
    known = [name for name, _ in services(world)]
    return sorted({*known, *(UNLISTED if "activity" in known else ())})


async def dumpsys(call: Call) -> int:
    args = list(call.args)
    listing = False
    while args and args[0].startswith("-"):
        word = args.pop(0)
        if word in ("-t", "-T", "--priority", "--skip"):
            if not args:
                return await usage(call)
        elif word == "--help":
            await call.out(USAGE)
            return 0
        elif word == "-l":
            listing = True
        elif word not in ("--proto", "--pid", "--dump", "--clients", "--stability", "--thread"):
            return await usage(call)
        if word in ("-t", "-T", "--priority", "--skip"):
            args.pop(0)
    await call.world.noise.lag()
    call.world.tick()
    names = running(call.world)
    if args and not listing:
        return await one(call, args[0], args[1:], names)
    listed = "".join(f"  {name}\n" for name in names)
    await call.out(f"Currently running services:\n{listed}")
    if listing:
        return 0
    for name in names:
        await call.out("-" * 79 + f"\nDUMP OF SERVICE {name}:\n{dumped(call.world, name, [])}")
    return 0


async def one(call: Call, name: str, args: list[str], names: list[str]) -> int:
    if name not in names or (name not in UNLISTED and not has_service(call.world, name)):
        await call.err(f"Can't find service: {name}\n")
        return 0
    await call.out(dumped(call.world, name, args))
    return 0


def dumped(world: World, name: str, args: list[str]) -> str:
    """A service without anything to tell says nothing."""
    dump = DUMPS.get(name)
    return dump(world, args) if dump else ""


async def usage(call: Call) -> int:
    await call.err(USAGE)
    return 255


PROGRAMS: dict[str, Program] = {"dumpsys": dumpsys}
