"""Programs that run other programs: sh, su, env, timeout, xargs and their like."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ..layout import number
from ..shell.condition import test
from ..shell.interpreter import run_lines, run_text, shell_of
from ..shell.launch import NotRunnable, launch, programs
from ..shell.parser import MAX_SCRIPT
from ..shell.state import NAME, environment
from .call import Call
from .flags import BadUsage, BadValue, flags
from .opening import reason

MAX_ARGUMENTS = 128 << 10
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


async def start(call: Call, argv: list[str]) -> int:
    """Another program in this one's place."""
    try:
        return await launch(replace(call, argv=argv), call.pid)
    except NotRunnable as error:
        text = "No such file or directory" if error.code == 127 else "Permission denied"
        return await call.fail(f"{call.name}: exec {argv[0]}: {text}", error.code)


async def sh(call: Call) -> int:
    args = call.args
    options: list[str] = []
    while args and args[0][:1] in "-+" and len(args[0]) > 1 and args[0] != "--":
        options.append(args.pop(0))
        if options[-1].startswith("-") and "c" in options[-1]:
            break
    if args[:1] == ["--"]:
        args.pop(0)
    letters = {letter for option in options for letter in option[1:]}
    if "c" in letters:
        if not args:
            return await call.fail("/system/bin/sh: -c requires an argument", 1)
        shell = shell_of(call, call.pid, args[1] if args[1:] else NAME, args[2:])
        shell.options = letters & set("exuf")
        return await run_text(shell, args[0])
    if not args or "s" in letters:
        shell = shell_of(call, call.pid, positional=args)
        return await run_lines(shell, prompting=call.tty and "s" not in letters)
    try:
        with call.world.disk.open(args[0], call.uid, call.cwd) as opened:
            data = opened.read(MAX_SCRIPT + 1)
    except OSError as error:
        return await call.fail(f"/system/bin/sh: {args[0]}: {reason(error)}", 127)
    shell = shell_of(call, call.pid, args[0], args[1:])
    shell.options = letters & set("exuf")
    return await run_text(shell, data.decode("utf-8", "surrogateescape"))


async def su(call: Call) -> int:
    """userdebug's su: `su [UID[,GID...]] [COMMAND...]`; root and shell may, apps may not.

    It knows no options: `su -c id` is what other su understand.
    """
    if call.uid not in (0, 2000):
        return await call.fail("su: not allowed")
    args = call.args
    uid = 0
    if args:
        name = args.pop(0).split(",")[0]
        found = number(name)
        if found is None:
            return await call.fail(f"su: invalid uid/gid '{name}'")
        uid = found
    user = environment(uid)
    env = call.env | {name: user[name] for name in ("USER", "LOGNAME", "HOME")}
    inner = replace(call, uid=uid, env=env)
    return await start(inner, args or ["sh"])


async def run_as(call: Call) -> int:
    """Only debuggable packages have it; the phone's are release builds."""
    if not call.args:
        return await call.fail("run-as: usage: run-as <package-name> [--user <uid>] <command>")
    package = call.world.packages.get(call.args[0])
    if package is None:
        return await call.fail(f"run-as: unknown package: {call.args[0]}")
    return await call.fail(f"run-as: package not debuggable: {call.args[0]}")


async def env(call: Call) -> int:
    given = flags(call.args, "iu:0", first_only=True)
    values = {} if "i" in given else dict(call.env)
    for name in given.values.get("u", []):
        values.pop(name, None)
    rest = given.rest
    while rest and "=" in rest[0]:
        name, _, value = rest.pop(0).partition("=")
        values[name] = value
    if rest:
        return await start(replace(call, env=values), rest)
    end = "\0" if "0" in given else "\n"
    await call.out("".join(f"{name}={value}{end}" for name, value in values.items()))
    return 0


async def directly(call: Call) -> int:
    """nohup, setsid and their like: the phone's jobs know no sessions, so they only run."""
    given = flags(call.args, "cdwn:", first_only=True)
    if not given.rest:
        raise BadUsage("Needs 1 argument", 125 if call.name.endswith("nohup") else 1)
    return await start(call, given.rest)


def seconds(text: str, code: int = 1) -> float:
    unit = UNITS.get(text[-1:], 0)
    try:
        value = float(text[:-1] if unit else text) * (unit or 1)
    except ValueError:
        raise BadValue(f"Not a number '{text[:80]}'", code) from None
    if not 0 <= value < 1e9:
        raise BadValue(f"Not a number '{text[:80]}'", code)
    return value


async def sleep(call: Call) -> int:
    if not call.args:
        raise BadUsage("Needs 1 argument")
    await asyncio.sleep(sum(seconds(arg) for arg in call.args))
    return 0


async def timeout(call: Call) -> int:
    given = flags(call.args, "k:s:vi", {"foreground": "v"}, first_only=True)
    if len(given.rest) < 2:
        raise BadUsage("Need 2 arguments", 125)
    limit = seconds(given.rest[0], 125)
    try:
        async with asyncio.timeout(limit or None):
            return await start(call, given.rest[1:])
    except TimeoutError:
        return 137 if given.value("s").removeprefix("SIG") in ("KILL", "9") else 124


async def xargs(call: Call) -> int:
    given = flags(
        call.args, "0oprtn:P:s:E:", {"null": "0", "no-run-if-empty": "r"}, first_only=True
    )
    command = given.rest or ["echo"]
    text = await call.input()
    found = [word for word in text.split("\0") if word] if "0" in given else text.split()
    if given.value("E") in found:
        found = found[: found.index(given.value("E"))]
    status = 0
    room = given.number("s", MAX_ARGUMENTS) - sum(len(word) + 1 for word in command)
    batches = _batches(found, max(1, given.number("n", MAX_ARGUMENTS)), room)
    for batch in batches or [[]] * ("r" not in given):
        argv = command + batch
        if "t" in given:
            await call.err("".join(f"{word} " for word in argv) + "\n")
        code = await start(call, argv)
        if code == 255:
            aborted = f"xargs: {command[0]}: exited with status 255; aborting"
            return await call.fail(aborted, 124)
        if code >= 126:
            return code
        status = 123 if code else status
    return status


def _batches(words: list[str], most: int, room: int) -> list[list[str]]:
    batches: list[list[str]] = []
    length = 0
    for word in words:
        length += len(word) + 1
        if not batches or len(batches[-1]) >= most or length > room:
            batches.append([])
            length = len(word) + 1
        batches[-1].append(word)
    return batches


async def toybox(call: Call) -> int:
    if not call.args:
        await call.out(" ".join(sorted(programs())) + "\n")
        return 0
    if call.args[0] not in programs():
        return await call.fail(f"toybox: Unknown command {call.args[0]}", 127)
    return await start(call, call.args)


async def yes(call: Call) -> int:
    line = (" ".join(call.args) or "y") + "\n"
    block = (line * (1 + 8192 // len(line))).encode("utf-8", "surrogateescape")
    while True:
        await call.stdout.write(block)
        await asyncio.sleep(0)


async def succeed(call: Call) -> int:
    return 0


async def fail(call: Call) -> int:
    return 1


PROGRAMS = {
    "sh": sh,
    "su": su,
    "run-as": run_as,
    "env": env,
    "nohup": directly,
    "setsid": directly,
    "sleep": sleep,
    "timeout": timeout,
    "xargs": xargs,
    "toybox": toybox,
    "yes": yes,
    "true": succeed,
    "false": fail,
    "test": test,
    "[": test,
}
