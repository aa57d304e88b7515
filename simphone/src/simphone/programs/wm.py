"""`wm`: the display's size and density, and what was forced over them."""

from __future__ import annotations

from ..ui.node import DENSITY, HEIGHT, WIDTH
from .call import Call, Program
from .service_command import FAILURE, Arguments, Service

SIZE, FORCED_DENSITY = "display_size_forced", "display_density_forced"
SMALLEST, LARGEST = 72, 10_000
USAGE = """Window manager (window) commands:
  help
      Print this help text.
  size [reset|WxH|WdpxHdp] [-d DISPLAY_ID]
    Return or override display size.
  density [reset|DENSITY] [-d DISPLAY_ID] [-u UNIQUE_ID]
    Return or override display density.
  dismiss-keyguard
    Dismiss the keyguard, prompting user for auth if necessary.
  user-rotation [-d DISPLAY_ID] [free|lock] [rotation]
    Print or set user rotation mode and user rotation.
"""


def plain(arguments: Arguments) -> list[str]:
    """The words without options; every option of these commands takes one."""
    words = []
    while (word := arguments.next()) is not None:
        if word.startswith("-") and not word.lstrip("-").isdigit():
            arguments.required()
        else:
            words.append(word)
    return words


def pixels(text: str) -> str | None:
    """WxH within what the service takes."""
    width, _, height = text.partition("x")
    if not (width.isascii() and width.isdigit() and height.isascii() and height.isdigit()):
        return None
    if not all(len(side) < 6 and SMALLEST <= int(side) <= LARGEST for side in (width, height)):
        return None
    return f"{int(width)}x{int(height)}"


async def size(call: Call, arguments: Arguments) -> int:
    words, settings = plain(arguments), call.world.settings
    if not words:
        await call.out(f"Physical size: {WIDTH}x{HEIGHT}\n")
        if forced := settings.get("global", SIZE):
            await call.out(f"Override size: {forced.replace(',', 'x')}\n")
        return 0
    if words[0] in ("reset", f"{WIDTH}x{HEIGHT}"):
        settings.delete("global", SIZE)
        return 0
    wanted = pixels(words[0])
    if wanted is None:
        return await call.fail(f"Error: bad size {words[0]}", FAILURE)
    settings.put("global", SIZE, wanted.replace("x", ","))
    return 0


async def density(call: Call, arguments: Arguments) -> int:
    words, settings = plain(arguments), call.world.settings
    if not words:
        await call.out(f"Physical density: {DENSITY}\n")
        if forced := settings.get("secure", FORCED_DENSITY):
            await call.out(f"Override density: {forced}\n")
        return 0
    if words[0] in ("reset", str(DENSITY)):
        settings.delete("secure", FORCED_DENSITY)
        return 0
    if not (words[0].isascii() and words[0].isdigit() and len(words[0]) < 6):
        return await call.fail(f"Error: bad number {words[0]}", FAILURE)
    if int(words[0]) < SMALLEST:
        return await call.fail(f"Error: density must be >= {SMALLEST}", FAILURE)
    settings.put("secure", FORCED_DENSITY, words[0])
    return 0


async def dismiss_keyguard(call: Call, arguments: Arguments) -> int:
    """There is no lock screen: the golden phone has it off."""
    return 0


async def user_rotation(call: Call, arguments: Arguments) -> int:
    words, settings = plain(arguments), call.world.settings
    if not words:
        free = settings.on("system", "accelerometer_rotation")
        turned = settings.get("system", "user_rotation") or "0"
        await call.out("free\n" if free else f"lock {turned}\n")
        return 0
    if words[0] not in ("free", "lock"):
        return await call.fail("Error: argument needs to be either -d, free or lock.", FAILURE)
    settings.put("system", "accelerometer_rotation", "1" if words[0] == "free" else "0")
    if words[1:] and words[1] in ("0", "1", "2", "3"):
        settings.put("system", "user_rotation", words[1])
    return 0


SERVICE = Service(
    "window",
    {
        "size": size,
        "density": density,
        "dismiss-keyguard": dismiss_keyguard,
        "user-rotation": user_rotation,
    },
    USAGE,
)
PROGRAMS: dict[str, Program] = {"wm": SERVICE}
