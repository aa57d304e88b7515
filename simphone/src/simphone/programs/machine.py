"""Programs about the machine and the user: uname, id, uptime, free, reboot, stop, start."""

from __future__ import annotations

from .. import procfs, system
from ..layout import number, user
from .call import Call
from .date import moment
from .flags import BadUsage, flags

SHELL_GROUPS = (
    (1004, "input"), (1007, "log"), (1011, "adb"), (1015, "sdcard_rw"), (1028, "sdcard_r"),
    (1078, "ext_data_rw"), (1079, "ext_obb_rw"), (3001, "net_bt_admin"), (3002, "net_bt"),
    (3003, "inet"), (3006, "net_bw_stats"), (3009, "readproc"), (3011, "uhid"),
    (3012, "readtracefs"),
)  # fmt: skip


async def uname(call: Call) -> int:
    given = flags(call.args, "asnrvmop")
    values = {
        "s": "Linux",
        "n": "localhost",
        "r": procfs.RELEASE,
        "v": procfs.VERSION,
        "m": "x86_64",
        "o": "Toybox",
    }
    letters = "snrvmo" if "a" in given else "".join(k for k in values if k in given) or "s"
    await call.out(" ".join(values[letter] for letter in letters) + "\n")
    return 0


async def id_(call: Call) -> int:
    given = flags(call.args, "ugnGrZ")
    uid = call.uid
    if given.rest:
        found = number(given.rest[0])
        if found is None:
            return await call.fail(f"id: {given.rest[0]}: No such user")
        uid = found
    name = user(uid)
    context = "u:r:su:s0" if uid == 0 else "u:r:shell:s0"
    if "Z" in given:
        await call.out(context + "\n")
    elif given.names & {"u", "g"}:
        await call.out((name if "n" in given else str(uid)) + "\n")
    else:
        groups = [(uid, name), *(SHELL_GROUPS if uid in (0, 2000) else ())]
        if "G" in given:
            await call.out(" ".join(n if "n" in given else str(g) for g, n in groups) + "\n")
            return 0
        listed = ",".join(f"{gid}({group})" for gid, group in groups)
        await call.out(f"uid={uid}({name}) gid={uid}({name}) groups={listed} context={context}\n")
    return 0


async def whoami(call: Call) -> int:
    await call.out(user(call.uid) + "\n")
    return 0


async def uptime(call: Call) -> int:
    given = flags(call.args, "ps")
    up = int(call.world.clock.uptime())
    if "s" in given:
        booted = call.world.clock.now() - call.world.clock.uptime()
        await call.out(moment(booted).strftime("%Y-%m-%d %H:%M:%S") + "\n")
        return 0
    minutes = up // 60
    age = f"{minutes} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}"
    days = f"{up // 86400} day{'s' if up >= 172800 else ''}, " if up >= 86400 else ""
    now = call.world.clock.date().strftime("%H:%M:%S")
    await call.out(f" {now} up {days}{age},  0 users,  load average: 0.08, 0.03, 0.01\n")
    return 0


async def free(call: Call) -> int:
    given = flags(call.args, "bkmgth")
    unit = {"b": 1 / 1024, "k": 1, "m": 1024, "g": 1 << 20}
    scale = next((unit[letter] for letter in unit if letter in given), 1 / 1024)
    info = procfs.memory(call.world)
    total, spare = info["MemTotal"], info["MemFree"]
    buffers = info["Buffers"]
    used = total - spare
    lines = [
        "\t\ttotal        used        free      shared     buffers",
        "Mem:" + _cells(17, scale, total, used, spare, 0, buffers),
        "-/+ buffers/cache:" + _cells(15, scale, used - buffers, spare + buffers),
        "Swap:" + _cells(16, scale, 0, 0, 0),
    ]
    await call.out("".join(line + "\n" for line in lines))
    return 0


def _cells(first: int, scale: float, *numbers: int) -> str:
    texts = [str(int(number / scale)) for number in numbers]
    return texts[0].rjust(first) + "".join(text.rjust(12) for text in texts[1:])


async def nproc(call: Call) -> int:
    await call.out(f"{procfs.cores(call.world)}\n")
    return 0


async def reboot(call: Call) -> int:
    if "-p" in call.args or call.name.endswith("poweroff"):
        call.world.control.power_off()
    else:
        call.world.control.reboot()
    return 0


async def stop_start(call: Call) -> int:
    """init's services by name; without one, the framework."""
    starting = call.name.rpartition("/")[2] == "start"
    if call.uid != 0:
        return await call.fail("must be root")
    world = call.world
    if not call.args:
        if starting and not system.framework_up(world):
            world.effects.later(0, "framework.start")
        elif not starting:
            system.stop_framework(world)
        return 0
    for name in call.args:
        if name == "adbd":
            world.control.restart_adbd(root=True)
        elif not world.properties.get(f"init.svc.{name}"):
            return await call.fail(f"{call.name}: Unable to {call.name} service '{name}'")
        else:
            world.properties.force(f"init.svc.{name}", "running" if starting else "stopped")
    return 0


async def quiet(call: Call) -> int:
    """Programs whose effect nobody can see here."""
    if not call.args and call.name.endswith("chcon"):
        raise BadUsage("Needs 2 arguments")
    return 0


async def getenforce(call: Call) -> int:
    await call.out("Enforcing\n")
    return 0


PROGRAMS = {
    "uname": uname,
    "id": id_,
    "whoami": whoami,
    "uptime": uptime,
    "free": free,
    "nproc": nproc,
    "reboot": reboot,
    "stop": stop_start,
    "start": stop_start,
    "restorecon": quiet,
    "chcon": quiet,
    "getenforce": getenforce,
}
