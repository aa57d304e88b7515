"""`input`: a finger and a keyboard that the shell moves."""

from __future__ import annotations

import math
from dataclasses import replace

from ..ui import touch
from .call import Call, Program
from .keycodes import keycode
from .service_command import ILLEGAL_ARGUMENT, Arguments, Service, Thrown, nothing

SOURCES = (
    "keyboard", "dpad", "gamepad", "touchscreen", "mouse", "stylus", "trackball", "touchpad",
    "touchnavigation", "joystick",
)  # fmt: skip
SWIPE_MS = 300
USAGE = """Usage: input [<source>] [-d DISPLAY_ID] <command> [<arg>...]

The sources are: 
{sources}
-d: specify the display ID.
      (Default: -1 for key event, 0 for motion event if not specified.)
The commands and default sources are:
      text <string> (Default: touchscreen)
      keyevent [--longpress|--doubletap|--async|--delay <duration between keycodes in ms>] \
<key code number or name> ... (Default: keyboard)
      tap <x> <y> (Default: touchscreen)
      swipe <x1> <y1> <x2> <y2> [duration(ms)] (Default: touchscreen)
      draganddrop <x1> <y1> <x2> <y2> [duration(ms)] (Default: touchscreen)
      press (Default: trackball)
      roll <dx> <dy> (Default: trackball)
      motionevent <DOWN|UP|MOVE|CANCEL> <x> <y> (Default: touchscreen)
      keycombination [-t duration(ms)] <key code 1> <key code 2> ... \
(Default: keyboard, the key order is important here.)
""".format(sources="".join(f"      {source}\n" for source in SOURCES))  # noqa: W291


def invalid(command: str) -> Thrown:
    return Thrown(ILLEGAL_ARGUMENT, f"Error: Invalid arguments for command: {command}")


def coordinate(arguments: Arguments) -> int:
    word = arguments.required()
    try:
        value = float(word)
    except ValueError:
        raise invalid(arguments.command) from None
    # Java reads NaN and Infinity as numbers; no finger can be there.
    return int(value) if math.isfinite(value) else -1


def unescaped(text: str) -> str:
    """`%s` is a space. A `%` that follows another starts anew, as in the original's scan."""
    return text.replace("%s", " ")


async def text(call: Call, arguments: Arguments) -> int:
    typed = unescaped(arguments.required())
    # The virtual keyboard's map has no keys for anything else, and gives no events at all.
    if not all(" " <= character <= "~" for character in typed):
        raise Thrown(
            "java.lang.NullPointerException",
            "Attempt to get length of null array",
            "com.android.server.input.InputShellCommand.sendText(InputShellCommand.java:309)",
            "com.android.server.input.InputShellCommand.runText(InputShellCommand.java:285)",
            "com.android.server.input.InputShellCommand.onCommand(InputShellCommand.java:228)",
        )
    touch.type_text(call.world, typed)
    return 0


async def keyevent(call: Call, arguments: Arguments) -> int:
    word: str | None = arguments.required()
    twice = False
    while word is not None and word.startswith("--"):
        twice = twice or word == "--doubletap"
        if word == "--delay" and not arguments.required().isdigit():
            raise invalid("keyevent")
        word = arguments.next()
    words = [word] if word is not None else []
    for each in (*words, *arguments.rest()):
        for _ in range(2 if twice else 1):
            touch.key(call.world, keycode(each))
    return 0


async def tap(call: Call, arguments: Arguments) -> int:
    x, y = coordinate(arguments), coordinate(arguments)
    touch.tap(call.world, x, y)
    return 0


async def swipe(call: Call, arguments: Arguments) -> int:
    x1, y1, x2, y2 = (coordinate(arguments) for _ in range(4))
    word = arguments.next()
    try:
        duration = SWIPE_MS if word is None else int(word)
    except ValueError:
        raise invalid(arguments.command) from None
    touch.swipe(call.world, (x1, y1), (x2, y2), SWIPE_MS if duration < 0 else duration)
    return 0


async def motionevent(call: Call, arguments: Arguments) -> int:
    """Only a whole gesture does something here, so what is lifted was put down in that place."""
    action = arguments.required().upper()
    x, y = coordinate(arguments), coordinate(arguments)
    if action not in ("DOWN", "UP", "MOVE", "CANCEL"):
        raise Thrown(ILLEGAL_ARGUMENT, f"Unknown action: {action}")
    if action == "UP":
        touch.tap(call.world, x, y)
    return 0


async def keycombination(call: Call, arguments: Arguments) -> int:
    while arguments.option() is not None:
        arguments.required()
    for word in arguments.rest():
        touch.key(call.world, keycode(word))
    return 0


SERVICE = Service(
    "input",
    {
        "text": text,
        "keyevent": keyevent,
        "tap": tap,
        "swipe": swipe,
        "draganddrop": swipe,
        "press": nothing,  # a trackball
        "roll": nothing,
        "motionevent": motionevent,
        "keycombination": keycombination,
    },
    USAGE,
)


def without_source(args: list[str]) -> list[str]:
    """The command and its words; which device and display they come from makes no difference."""
    words = list(args)
    if words and words[0] in SOURCES:
        words = words[1:]
    if words[:1] == ["-d"]:
        words = words[2:]
    return words


async def input_(call: Call) -> int:
    return await SERVICE(replace(call, argv=[call.name, *without_source(call.args)]))


PROGRAMS: dict[str, Program] = {"input": input_}
