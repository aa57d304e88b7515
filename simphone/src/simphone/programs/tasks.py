"""Programs about processes: ps, top, pidof, pgrep, kill and what follows from a killing."""

from __future__ import annotations

import re
from collections.abc import Callable

from .. import procfs, system
from ..layout import number, user
from ..processes import ROOT, Process
from ..world import World
from .call import Call
from .files import needs
from .flags import BadUsage, BadValue, flags
from .regex import BadExpression, compiled

SIGNALS = {
    "HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9,
    "USR1": 10, "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "CHLD": 17,
    "CONT": 18, "STOP": 19, "TSTP": 20,
}  # fmt: skip
# Those that end nobody who has not asked for it.
HARMLESS = (0, 17, 18, 19, 20, 28)


def _restart_adbd(world: World, process: Process) -> None:
    world.control.restart_adbd(root=process.uid == ROOT)


def _restart_framework(world: World, process: Process) -> None:
    system.restart_framework(world)


# Who comes back by itself, and how. Everybody else is simply gone.
RESTARTED: dict[str, Callable[[World, Process], None]] = {
    "adbd": _restart_adbd,
    "system_server": _restart_framework,
    "zygote64": _restart_framework,
    "zygote": _restart_framework,
    "surfaceflinger": _restart_framework,
    "servicemanager": _restart_framework,
}


def on_killed(world: World, process: Process) -> None:
    """A process that was not a shell's own program is dead."""
    restart = RESTARTED.get(process.name)
    if restart is not None:
        restart(world, process)
        return
    world.processes.end(process.pid)
    if process.name in world.apps:
        world.windows.stop_package(process.name)
        if not world.windows.tasks:
            world.windows.home()


def signal_number(text: str) -> int:
    name = text.upper().removeprefix("SIG")
    if name in SIGNALS:
        return SIGNALS[name]
    if name.isdigit() and int(name[:4]) <= 64:
        return int(name)
    raise BadUsage(f"bad signal '{text[:40]}'")


def send(world: World, process: Process, signal: int, uid: int) -> str:
    """The reason why the signal was not delivered, or nothing."""
    if uid not in (0, process.uid) or process.pid == 1:
        return "Operation not permitted"
    if signal not in HARMLESS and not world.processes.signal(process.pid, signal):
        on_killed(world, process)
    return ""


def split_signal(args: list[str]) -> tuple[int, list[str]]:
    """`-9`, `-KILL`, `-s KILL`, `-l TERM` before what is to be killed."""
    signal = SIGNALS["TERM"]
    rest: list[str] = []
    todo = list(args)
    while todo:
        arg = todo.pop(0)
        if arg in ("-s", "-l") and todo:
            signal = signal_number(todo.pop(0))
        elif re.fullmatch(r"-(\d+|[A-Z][A-Z0-9]+)", arg) and not rest:
            signal = signal_number(arg[1:])
        elif arg != "--":
            rest.append(arg)
    return signal, rest


async def kill(call: Call) -> int:
    if call.args == ["-l"]:
        await call.out("".join(f"{code:2d}) SIG{name}\n" for name, code in SIGNALS.items()))
        return 0
    signal, rest = split_signal(call.args)
    needs(rest)
    status = 0
    for text in rest:
        if not re.fullmatch(r"-?\d{1,9}", text):
            status = await call.fail(f"kill: unknown pid '{text}'")
            continue
        process = call.world.processes.get(abs(int(text)))
        problem = "No such process" if process is None else ""
        if process is not None:
            problem = send(call.world, process, signal, call.uid)
        if problem:
            status = await call.fail(f"kill: bad pid '{text}': {problem}")
    return status


async def killall(call: Call) -> int:
    signal, rest = split_signal(call.args)
    names = [arg for arg in rest if not arg.startswith("-")]
    quiet = any(arg.startswith("-") and "q" in arg for arg in rest)
    needs(names)
    status = 0
    for name in names:
        found = [p for p in call.world.processes.all() if p.name == name and p.pid != call.pid]
        if not found and not quiet:
            status = await call.fail(f"killall: {name}: No such process")
        for process in found:
            problem = send(call.world, process, signal, call.uid)
            if problem:
                status = await call.fail(f"killall: bad pid '{process.pid}': {problem}")
    return status


def short(process: Process) -> str:
    """The kernel keeps 15 letters of a name; of an app's, zygote gives it the last ones."""
    return process.name[-15:] if "." in process.name else process.name[:15]


def matching(call: Call, pattern: str, *, exact: bool, full: bool) -> list[Process]:
    try:
        expression = compiled(pattern, extended=True)
    except BadExpression:
        raise BadUsage(f"bad regex '{pattern[:80]}'") from None
    found = []
    for process in call.world.processes.all():
        name = process.name if full else short(process)  # -f: the whole command line
        hit = expression.fullmatch(name) if exact else expression.search(name)
        if hit and process.pid != call.pid:
            found.append(process)
    return found


async def pgrep(call: Call) -> int:
    signal, args = (0, call.args)
    killing = call.name.rpartition("/")[2] == "pkill"
    if killing:
        options = [a for a in call.args if re.fullmatch(r"-(\d+|[A-Z][A-Z0-9]+)", a)]
        signal = signal_number(options[-1][1:]) if options else SIGNALS["TERM"]
        args = [a for a in call.args if a not in options]
    given = flags(args, "xfolnvcu:l:L:")
    if not given.rest and "u" not in given:
        raise BadUsage("No PATTERN")
    pattern = given.rest[0] if given.rest else ""
    found = matching(call, pattern, exact="x" in given, full="f" in given)
    if "u" in given:
        found = [p for p in found if p.uid == number(given.value("u"))]
    found = found[:1] if "o" in given else found[-1:] if "n" in given else found
    for process in found:
        if killing:
            problem = send(call.world, process, signal, call.uid)
            if problem:
                await call.err(f"pkill: bad pid '{process.pid}': {problem}\n")
        elif "c" not in given:
            await call.out(
                f"{process.pid} {process.name}\n" if "l" in given else f"{process.pid}\n"
            )
    if "c" in given:
        await call.out(f"{len(found)}\n")
    return 0 if found else 1


async def pidof(call: Call) -> int:
    given = flags(call.args, "so:x")
    needs(given.rest)
    omitted = given.values.get("o", [])
    pids = [
        str(process.pid)
        for process in reversed(call.world.processes.all())
        if process.name in given.rest and str(process.pid) not in omitted
    ]
    if not pids:
        return 1
    await call.out(" ".join(pids[:1] if "s" in given else pids) + "\n")
    return 0


def memory(process: Process) -> tuple[int, int]:
    """Virtual and resident KiB, as a process of this kind usually has."""
    if process.name == "system_server":
        return 16_842_000, 312_400
    if process.ppid not in (0, 1, 2):
        return 13_914_000, 98_300 + process.pid % 100 * 300
    return 10_850_000 if process.pid != 1 else 10_901_000, 4_200 + process.pid % 50 * 40


def column(name: str, process: Process, world: World) -> str:
    virtual, resident = memory(process)
    age = max(0, int(world.clock.uptime() - process.started_s))
    elapsed = f"{age // 3600:02d}:{age // 60 % 60:02d}:{age % 60:02d}"
    values = {
        "USER": user(process.uid),
        "UID": str(process.uid),
        "PID": str(process.pid),
        "TID": str(process.pid),
        "PPID": str(process.ppid),
        "VSZ": str(virtual),
        "RSS": str(resident),
        "WCHAN": "0",
        "ADDR": "0",
        "S": "S",
        "STAT": "S",
        "NAME": process.name,
        "CMD": short(process),
        "COMM": short(process),
        "COMMAND": process.name,
        "ARGS": process.name,
        "CMDLINE": process.name,
        "ETIME": elapsed,
        "TIME": "00:00:00",
        "%CPU": "0.0",
        "%MEM": f"{100 * resident / procfs.memory(world)['MemTotal']:.1f}",
        "PRI": "19",
        "NI": "0",
        "TTY": "?",
        "STIME": elapsed[:5],
        "C": "0",
        "LABEL": "u:r:shell:s0",
    }
    if name not in values:
        raise BadValue(f"bad -o '{name[:40]}'")
    return values[name]


WIDTHS = {"USER": 12, "PID": 5, "PPID": 5, "VSZ": 7, "RSS": 6, "WCHAN": 10, "ADDR": 8, "NAME": 27}
LEFT = frozenset(
    (
        "USER",
        "NAME",
        "CMD",
        "COMM",
        "COMMAND",
        "ARGS",
        "CMDLINE",
        "LABEL",
        "TTY",
        "S",
        "STAT",
        "WCHAN",
    )
)


def table(columns: list[str], found: list[Process], world: World, *, header: bool) -> str:
    shown = [[column(name, process, world) for name in columns] for process in found]
    rows = [columns, *shown] if header else shown
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(len(columns))]
    widths = [max(w, WIDTHS.get(name, 0)) for w, name in zip(widths, columns, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if name in LEFT else cell.rjust(width)
            for name, cell, width in zip(columns, row, widths, strict=True)
        ]
        line = " ".join(cells).rstrip()
        # Only the head's last column has its width.
        pad = WIDTHS.get(columns[-1], 0) - len(columns[-1]) if row is columns else 0
        lines.append(line + " " * max(0, pad) + "\n")
    return "".join(lines)


async def ps(call: Call) -> int:
    given = flags(call.args, "AeafldwTZMnO:o:p:u:U:k:s:t:G:g:P:")
    found = call.world.processes.all()
    if "p" in given:
        wanted = {pid for text in given.values["p"] for pid in re.split(r"[ ,]+", text)}
        found = [p for p in found if str(p.pid) in wanted]
    elif "u" in given or "U" in given:
        names = (given.value("u") or given.value("U")).split(",")
        found = [p for p in found if p.uid in [number(name) for name in names]]
    elif not given.names & {"A", "e"}:
        found = [p for p in found if p.uid == call.uid and call.world.processes.is_running(p.pid)]
    if given.rest:
        found = [p for p in found if str(p.pid) in given.rest or p.name in given.rest]
    columns = ["USER", "PID", "PPID", "VSZ", "RSS", "WCHAN", "ADDR", "S", "NAME"]
    if "f" in given:
        columns = ["UID", "PID", "PPID", "C", "STIME", "TTY", "TIME", "CMD"]
    header = True
    if "o" in given:
        text = ",".join(given.values["o"])
        header = not all(part.endswith("=") for part in text.split(","))
        columns = [part.rstrip("=").upper() for part in re.split(r"[ ,]+", text) if part]
    await call.out(table(columns, found, call.world, header=header))
    return 0


async def top(call: Call) -> int:
    """One look: what `-n 1` gives; more rounds would show the same quiet phone."""
    given = flags(call.args, "bn:d:m:o:p:s:Hqk:u:")
    found = call.world.processes.all()[: given.number("m", 30)]
    total = len(call.world.processes.all())
    await call.out(
        f"Tasks: {total} total,   1 running, {total - 1} sleeping,   0 stopped,   0 zombie\n"
    )
    known = procfs.memory(call.world)
    most, free, buffers = known["MemTotal"], known["MemFree"], known["Buffers"]
    await call.out(
        f"  Mem: {most:>8}K total, {most - free:>8}K used, {free:>8}K free, {buffers:>8}K buffers\n"
    )
    columns = ["PID", "USER", "PRI", "NI", "VSZ", "RSS", "S", "%CPU", "%MEM", "TIME", "ARGS"]
    await call.out(table(columns, found, call.world, header=True))
    return 0


PROGRAMS = {
    "ps": ps,
    "top": top,
    "pidof": pidof,
    "pgrep": pgrep,
    "pkill": pgrep,
    "kill": kill,
    "killall": killall,
}
