"""`screencap` and `uiautomator`: the picture and the tree of what is in front."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Hashable

from ..ui import draw, dump
from ..ui.node import HEIGHT, WIDTH
from ..world import World
from .call import Call, Program
from .flags import BadUsage, flags
from .opening import reason, writing

RGBA_8888, SRGB = 1, 1
IDLE_LIMIT_S = 10.0
WINDOW_DUMP = "/sdcard/window_dump.xml"
SCREENCAP_USAGE = """usage: screencap [-hp] [-d display-id] [FILENAME]
   -h: this message
   -p: save the file as a png.
   -d: specify the display ID to capture
       (If the id is not given, it defaults to 4619827259835644672)
If FILENAME ends with .png it will be saved as a png.
If FILENAME is not given, the results will be printed to stdout.
"""
UIAUTOMATOR_USAGE = """Usage: uiautomator <subcommand> [options]

Available subcommands:

help: displays help message

runtest: executes UI automation tests

dump: creates an XML dump of current UI hierarchy
    dump [--verbose][file]
      [--compressed]: dumps compressed layout information.
      [file]: the location where the dumped XML should be stored, default is
      /storage/emulated/legacy/window_dump.xml

events: prints out accessibility events until terminated

"""


class Frames:
    """The last picture: a screen that nobody touched is drawn once."""

    def __init__(self) -> None:
        self._seen: Hashable = None
        self._png = b""

    async def png(self, world: World) -> bytes:
        # Views are built here, on the loop that owns the world; only the drawing is elsewhere.
        roots = world.windows.roots()
        seen = draw.signature(roots)
        if seen != self._seen:
            drawn = await asyncio.to_thread(draw.png, roots)
            self._seen, self._png = seen, drawn
            return drawn
        return self._png


FRAMES = Frames()


async def raw(world: World) -> bytes:
    drawn = await asyncio.to_thread(draw.picture, world.windows.roots())
    pixels = drawn.convert("RGBA").tobytes()
    return struct.pack("<4I", WIDTH, HEIGHT, RGBA_8888, SRGB) + pixels


async def screencap(call: Call) -> int:
    try:
        given = flags(call.args, "hpd:")
    except BadUsage:
        await call.err(SCREENCAP_USAGE)
        return 1
    if "h" in given or len(given.rest) > 1:
        await call.err(SCREENCAP_USAGE)
        return 0 if "h" in given else 1
    await call.world.noise.lag()
    call.world.tick()
    path = given.rest[0] if given.rest else "/dev/stdout"
    if "p" in given or path.endswith(".png"):
        picture = await FRAMES.png(call.world)
    else:
        picture = await raw(call.world)
    picture = call.world.faults.at("screencap", picture)
    try:
        with writing(call, path) as sink:
            await sink.write(picture)
    except BrokenPipeError:
        raise
    except OSError as error:
        return await call.fail(f"Error opening file: {path} ({reason(error)})")
    return 0


async def uiautomator(call: Call) -> int:
    if call.args[:1] != ["dump"]:
        await call.err(UIAUTOMATOR_USAGE)
        return 0 if call.args[:1] == ["help"] else 1
    words = [arg for arg in call.args[1:] if not arg.startswith("--")]
    path = words[0] if words else WINDOW_DUMP
    await call.world.noise.lag()
    if not call.world.faults.at("uiautomator.idle", await at_rest(call.world)):
        await call.err("ERROR: could not get idle state.\n")
        return 0
    call.world.tick()
    window = call.world.faults.at("uiautomator.window", call.world.windows.focused())
    if window is None:
        await call.err("ERROR: null root node returned by UiTestAutomationBridge.\n")
        return 0
    xml = call.world.faults.at("uiautomator.dump", dump.hierarchy(window.root, window.package))
    try:
        with writing(call, path) as sink:
            await sink.write(xml.encode("utf-8", "replace"))
    except BrokenPipeError:
        raise
    except OSError as error:
        await call.err(f"java.io.FileNotFoundException: {path}: open failed: ({reason(error)})\n")
        return 1
    await call.out(f"UI hierchary dumped to: {path}\n")
    return 0


async def at_rest(world: World) -> bool:
    """Whether the screen stood still within the limit. A plain phone knows at once that it will
    not; a restless one waits for it, as the real tool does."""
    left = IDLE_LIMIT_S
    while (pause := world.windows.idle_in_s()) > 0:
        hopeless = pause > left
        if hopeless and world.noise.seed is None:
            return False
        await asyncio.sleep(min(pause, left))
        if hopeless:
            return False
        left -= pause
    return True


PROGRAMS: dict[str, Program] = {"screencap": screencap, "uiautomator": uiautomator}
