"""Input: taps, swipes, keys and text. Every call acts once and is never repeated."""

from __future__ import annotations

import base64

from .faults import DeviceFault
from .shell import Shell

# A pinned input method takes any text by broadcast; `input text` supports only ASCII.
IME_ACTION = "ADB_INPUT_B64"


class Input:
    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def tap(self, x: int, y: int) -> None:
        self._input("tap", str(x), str(y))

    def swipe(self, x1: int, y1: int, x2: int, y2: int, milliseconds: int = 300) -> None:
        points = (str(point) for point in (x1, y1, x2, y2, milliseconds))
        self._input("swipe", *points, timeout=30 + milliseconds / 1000)

    def long_press(self, x: int, y: int, milliseconds: int = 800) -> None:
        self.swipe(x, y, x, y, milliseconds)

    def key(self, name: str) -> None:
        """A key by name or number, such as `KEYCODE_BACK`."""
        self._input("keyevent", name)

    def text(self, text: str) -> None:
        """Types into the focused field.

        `input` replaces `%s` by a space and has no escape for a literal `%s`, so a text with `%s`
        or with anything but printable ASCII goes through the input method.
        """
        if not text:
            return
        if text.isascii() and text.isprintable() and "%s" not in text:
            self._input("text", text.replace(" ", "%s"))
        else:
            self.text_by_ime(text)

    def text_by_ime(self, text: str) -> None:
        """Uses the profile's input method; the broadcast does not report if one received it."""
        try:
            message = base64.b64encode(text.encode()).decode()
        except UnicodeEncodeError as error:
            why = f"not valid text: {error}"
            raise DeviceFault("command_failed", why, during=IME_ACTION) from error
        result = self._shell.do("am", "broadcast", "-a", IME_ACTION, "--es", "msg", message)
        if "Broadcast completed" not in result.text:
            raise DeviceFault("command_failed", result.text.strip(), during=IME_ACTION)

    def _input(self, *words: str, timeout: float = 30.0) -> None:
        result = self._shell.do("input", *words, timeout=timeout)
        # A successful gesture prints nothing; some failures print a trace and exit with 0.
        output = f"{result.text}{result.error_text}".strip()
        if output:
            raise DeviceFault("command_failed", output, during=f"input {words[0]}")
