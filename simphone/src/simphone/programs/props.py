"""`getprop` and `setprop`: init's properties, read and written."""

from __future__ import annotations

from .call import Call, Program


async def getprop(call: Call) -> int:
    if not call.args:
        await call.out("".join(f"[{k}]: [{v}]\n" for k, v in call.world.properties.items()))
        return 0
    if len(call.args) > 2:
        return await call.fail('getprop: Max 2 arguments (see "getprop --help")')
    if call.args[0].startswith("-"):
        return await call.fail(f"getprop: Unknown option {call.args[0].lstrip('-')}")
    default = call.args[1] if len(call.args) == 2 else ""
    await call.out((call.world.properties.get(call.args[0]) or default) + "\n")
    return 0


async def setprop(call: Call) -> int:
    if len(call.args) != 2:
        amount = "Max" if len(call.args) > 2 else "Needs"
        return await call.fail(f'setprop: {amount} 2 arguments (see "setprop --help")')
    name, value = call.args
    allowed = call.uid == 0 or not name.startswith(PROTECTED)
    if allowed and call.world.properties.set(name, value):
        return 0
    await call.err(f"Failed to set property '{name}' to '{value}'.\n")
    return await call.fail("See dmesg for error reason.")


# What the shell user's SELinux domain may not write on a userdebug build.
PROTECTED = (
    "ro.",
    "init.",
    "sys.boot_completed",
    "sys.system_server.",
    "selinux.",
    "vold.",
    "gsm.",
)

PROGRAMS: dict[str, Program] = {"getprop": getprop, "setprop": setprop}
