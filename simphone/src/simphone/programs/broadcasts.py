"""Who listens to a broadcast from the shell, and what it does."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

from ..providers import media
from ..ui import touch
from ..ui.screen import Intent
from ..world import World


def input_text(world: World, intent: Intent) -> None:
    """The keyboard that types what `input text` cannot: any Unicode."""
    touch.type_text(world, str(intent.extras.get("msg") or ""))


def input_base64(world: World, intent: Intent) -> None:
    try:
        typed = base64.b64decode(str(intent.extras.get("msg") or "")).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        world.logcat.write("AdbIME", "bad base64 in ADB_INPUT_B64", level="W")
        return
    touch.type_text(world, typed)


def input_characters(world: World, intent: Intent) -> None:
    codes = intent.extras.get("chars")
    if isinstance(codes, list):
        touch.type_text(
            world, "".join(chr(c) for c in codes if 0 < c < 0xD800 or 0xDFFF < c < 0x110000)
        )


def input_code(world: World, intent: Intent) -> None:
    code = intent.extras.get("code")
    if isinstance(code, int):
        touch.key(world, code)


def editor_action(world: World, intent: Intent) -> None:
    """Done, go, search, send: what the field does on enter."""
    if (screen := world.windows.typing()) is not None:
        touch.enter(world, screen)


def clear_text(world: World, intent: Intent) -> None:
    if (screen := world.windows.typing()) is not None:
        screen.fields[screen.focus] = ""


def scan_media(world: World, intent: Intent) -> None:
    media.changed(world)


def close_dialogs(world: World, intent: Intent) -> None:
    world.windows.close_shade()


RECEIVERS: dict[str, Callable[[World, Intent], None]] = {
    "ADB_INPUT_TEXT": input_text,
    "ADB_INPUT_B64": input_base64,
    "ADB_INPUT_CHARS": input_characters,
    "ADB_INPUT_CODE": input_code,
    "ADB_EDITOR_CODE": editor_action,
    "ADB_CLEAR_TEXT": clear_text,
    "android.intent.action.MEDIA_SCANNER_SCAN_FILE": scan_media,
    "android.intent.action.MEDIA_MOUNTED": scan_media,
    "android.intent.action.CLOSE_SYSTEM_DIALOGS": close_dialogs,
}
