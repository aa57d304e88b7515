"""`cmd`: the shell commands of system services."""

from __future__ import annotations

from dataclasses import replace

from ..system import services
from . import am, appops, ime, notify, pm, radios, wm
from . import input as input_program
from . import settings as settings_program
from .call import Call, Program
from .framework import NO_SERVICE, needs_service
from .service_command import FAILURE, Arguments, Service


async def night(call: Call, arguments: Arguments) -> int:
    modes = {"yes": "2", "no": "1", "auto": "0"}
    word = arguments.next()
    settings = call.world.settings
    if word is not None:
        if word not in modes:
            await call.out(f"Error: mode must be 'yes', 'no', or 'auto' , not {word}\n")
            return FAILURE
        settings.put("secure", "ui_night_mode", modes[word])
    now = settings.get("secure", "ui_night_mode")
    named = next((name for name, value in modes.items() if value == now), "no")
    await call.out(f"Night mode: {named}\n")
    return 0


SERVICES: dict[str, Program] = {
    "activity": am.SERVICE,
    "appops": appops.SERVICE,
    "bluetooth_manager": radios.BLUETOOTH,
    "connectivity": radios.CONNECTIVITY,
    "input": input_program.input_,
    "input_method": ime.SERVICE,
    "location": radios.LOCATION,
    "notification": notify.NOTIFICATION,
    "package": pm.SERVICE,
    "settings": settings_program.settings,
    "statusbar": notify.STATUS_BAR,
    "uimode": Service("uimode", {"night": night}),
    "wifi": radios.WIFI,
    "window": wm.SERVICE,
}


async def cmd(call: Call) -> int:
    args = list(call.args)
    if args[:1] == ["-w"]:
        args.pop(0)
    if not args:
        return await call.fail(
            "cmd: No service specified; use -l to list all running services. "
            "Use -w to start and wait for a service.",
            NO_SERVICE,
        )
    names = [name for name, _ in services(call.world)]
    if args[0] == "-l":
        await call.out("Currently running services:\n" + "".join(f"  {n}\n" for n in names))
        return 0
    if args[0] not in names:
        return await call.fail(f"cmd: Can't find service: {args[0]}", NO_SERVICE)
    service = SERVICES.get(args[0])
    if service is None:
        if not await needs_service(call, args[0]):
            return NO_SERVICE
        await call.err("No shell command implementation.\n")
        return 0
    return await service(replace(call, argv=args))


PROGRAMS: dict[str, Program] = {"cmd": cmd}
