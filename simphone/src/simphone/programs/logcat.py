"""`logcat` and `log`: the log, read, followed, emptied and written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..logcat import LogLine
from .call import Call, Program
from .flags import BadUsage, Flags, flags
from .log_format import LEVELS, Format, read_filter, read_format, read_pattern
from .regex import BadExpression

BUFFERS = ("main", "system", "radio", "events", "crash", "kernel", "stats", "security")
DEFAULT_BUFFERS = ("main", "system", "crash")
LONG = {
    "clear": "c", "buffer": "b", "format": "v", "regex": "e", "max-count": "m", "pid": "P",
    "buffer-size": "G", "dividers": "D", "last": "L", "statistics": "S", "file": "f", "print": "p",
}  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """What one run of logcat was asked for."""

    shown: Callable[[LogLine], bool]
    format: Format
    follow: bool
    tail: int | None
    most: int | None


def buffers(given: Flags) -> list[str]:
    names = [name for value in given.values.get("b", []) for name in value.split(",")]
    wanted: list[str] = []
    for name in names:
        if name not in (*BUFFERS, "all", "default"):
            raise BadUsage(f"Invalid parameter {name} to -b")
        wanted += {"all": BUFFERS[:-1], "default": DEFAULT_BUFFERS}.get(name, (name,))
    return wanted or list(DEFAULT_BUFFERS)


def count(given: Flags, name: str) -> int | None:
    text = given.value(name)
    return int(text) if text.isascii() and text.isdigit() else None


def wanted(given: Flags) -> Wanted:
    try:
        shape = read_format(given.values.get("v", []))
    except ValueError as error:
        raise BadUsage(f'Invalid parameter "{error}" to -v') from None
    try:
        tests = [read_filter(given.rest, silent="s" in given)]
    except ValueError as error:
        raise BadUsage(f"Invalid filter expression '{error}'") from None
    try:
        tests += [read_pattern(text) for text in given.values.get("e", [])]
    except BadExpression as error:
        raise BadUsage(f"Invalid regular expression: {error}") from None
    pid = count(given, "P")
    if "P" in given and pid is None:
        raise BadUsage(f'Invalid parameter "{given.value("P")}" to --pid')
    # Every line here is one of `main`; other buffers are there and empty.
    main = "main" in buffers(given)
    return Wanted(
        lambda line: (
            main and (pid is None or line.pid == pid) and all(test(line) for test in tests)
        ),
        shape,
        follow=not ("d" in given or "t" in given),
        tail=count(given, "t") if "t" in given else count(given, "T"),
        most=count(given, "m"),
    )


async def logcat(call: Call) -> int:
    try:
        given = flags(call.args, "dcsgSDLpt:T:v:b:e:m:P:G:f:n:r:", LONG)
        asked = wanted(given)
        names = buffers(given)
    except BadUsage as error:
        return await call.fail(f"logcat: {error}")
    log = call.world.logcat
    if "c" in given:
        log.clear()
        return 0
    if "G" in given:
        size = given.value("G")
        return (
            0
            if re.fullmatch(r"\d+[KMGkmg]?", size)
            else await call.fail(f'logcat: Invalid parameter "{size}" to -G')
        )
    if "g" in given:
        kept = sum(len(line.text) + len(line.tag) + 32 for line in log.lines()) // 1024
        await call.out("".join(
            f"{name}: ring buffer is 2 MiB ({kept if name == 'main' else 0} KiB consumed, "
            f"{kept if name == 'main' else 0} KiB readable), max entry is 5120 B, "
            "max payload is 4068 B\n"
            for name in names
        ))  # fmt: skip
        return 0
    await call.world.noise.lag()
    return await show(call, asked)


async def show(call: Call, asked: Wanted) -> int:
    log = call.world.logcat
    left = asked.most
    headed = False
    fresh = log.lines()
    if asked.tail is not None:
        # Counted before filtering, as the real one asks logd for that many.
        fresh = fresh[-asked.tail :] if asked.tail else []
    seen = log.written
    while True:
        for line in filter(asked.shown, fresh):
            if left == 0:
                return 0
            if not headed:
                await call.out("--------- beginning of main\n")
                headed = True
            await call.out(asked.format.lines(line))
            left = None if left is None else left - 1
        if not asked.follow or left == 0:
            return 0
        if log.written == seen:
            await log.more()
        # A snapshot that was loaded meanwhile may have set the count back.
        new = max(0, log.written - seen)
        seen = log.written
        fresh = log.lines()[-new:] if new else []


async def log(call: Call) -> int:
    try:
        given = flags(call.args, "p:t:", first_only=True)
    except BadUsage as error:
        return await call.fail(f"log: {error}")
    level = (given.value("p") or "i").upper()
    if len(level) != 1 or level not in LEVELS:
        return await call.fail(f"log: bad -p '{given.value('p')}'")
    tag = given.value("t") or "log"
    texts = [" ".join(given.rest)] if given.rest else (await call.input()).splitlines()
    for text in texts:
        call.world.logcat.write(tag, text, level=level, pid=shell_pid(call))
    return 0


def shell_pid(call: Call) -> int:
    adbd = call.world.processes.find("adbd")
    return adbd.pid + 1 if adbd else 1


PROGRAMS: dict[str, Program] = {"logcat": logcat, "log": log}
