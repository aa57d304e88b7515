"""`monkey`: opens an app as its icon does, then touches it at random."""

from __future__ import annotations

import asyncio
import random

from ..ui import touch
from ..ui.node import HEIGHT, WIDTH
from ..ui.screen import Intent
from ..world import World
from .am import launch
from .call import Call, Program
from .framework import NO_SERVICE, needs_service
from .intents import LAUNCHER, MAIN, Asked, main_activity

VALUED = ("-p", "-c", "-s", "--throttle", "--pkg-whitelist-file", "--pkg-blacklist-file")
BACK = 4


def read(args: list[str]) -> tuple[dict[str, str], str]:
    """Options with their values, and the count."""
    words, values, count = list(args), dict[str, str](), ""
    while words:
        word = words.pop(0)
        if word in VALUED or word.startswith("--pct-"):
            values[word] = words.pop(0) if words else ""
        elif not word.startswith("-"):
            count = word
    return values, count


def strike(world: World, package: str, dice: random.Random) -> None:
    """One event; a package that was left is opened again first."""
    front = world.windows.front()
    if package and (front is None or front[0] != package):
        launch(world, Asked(Intent(MAIN, package=package), [LAUNCHER]))
        return
    x, y = dice.randrange(WIDTH), dice.randrange(HEIGHT)
    match dice.randrange(10):
        case 0:
            touch.key(world, BACK)
        case 1 | 2:
            touch.swipe(world, (x, y), (x, dice.randrange(HEIGHT)), 200)
        case _:
            touch.tap(world, x, y)


async def monkey(call: Call) -> int:
    if not await needs_service(call, "activity"):
        return NO_SERVICE
    await call.out("".join(f"  bash arg: {arg}\n" for arg in call.args))
    values, count = read(call.args)
    if not (count.isascii() and count.isdigit() and len(count) < 10):
        await call.err("** Error: Count not specified\nusage: monkey [-p ALLOWED_PACKAGE] COUNT\n")
        return 255
    package = values.get("-p", "")
    if package and main_activity(call.world, package) is None:
        await call.err("** No activities found to run, monkey aborted.\n")
        return 252
    dice = random.Random(values.get("-s", "0"))
    for _ in range(int(count)):
        strike(call.world, package, dice)
        await asyncio.sleep(0)
    await call.out(
        f"Events injected: {count}\n"
        "## Network stats: elapsed time=12ms (0ms mobile, 0ms wifi, 12ms not connected)\n"
    )
    return 0


PROGRAMS: dict[str, Program] = {"monkey": monkey}
