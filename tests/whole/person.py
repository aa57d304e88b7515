"""Plays a person who uses a phone over adb: reads what is shown, taps what is read."""

from __future__ import annotations

import time
from collections.abc import Callable

from orchestrator.device.phone import Device
from orchestrator.device.uitree import Element

PATIENCE_S = 60.0


def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, f"in vain: {what}"


class Person:
    def __init__(self, device: Device) -> None:
        self._device = device

    def look(self) -> tuple[Element, ...]:
        elements = self._device.screen.tree().elements
        assert elements is not None, "the screen never came to rest"
        return elements

    def sees(self, words: str) -> bool:
        return any(words in e.text or words in e.description for e in self.look())

    def waits_for(self, words: str) -> None:
        until(lambda: self.sees(words), f"{words!r} on the screen")

    def find(self, words: str) -> Element:
        """Exactly these words, waited for; what can be tapped before what cannot."""
        found: list[Element] = []

        def there() -> bool:
            found[:] = [e for e in self.look() if words in (e.text, e.description)]
            return bool(found)

        until(there, f"{words!r} on the screen")
        return next((e for e in found if e.clickable), found[0])

    def tap(self, words: str) -> None:
        self._device.input.tap(*self.find(words).bounds.center)

    def hold(self, words: str) -> None:
        self._device.input.long_press(*self.find(words).bounds.center)

    def fill(self, field: str, text: str) -> None:
        """Taps the field, clears it, types."""
        self.tap(field)
        for _ in self.find(field).text:
            self._device.input.key("KEYCODE_DEL")
        self._device.input.text(text)

    def back(self) -> None:
        self._device.input.key("KEYCODE_BACK")

    def opens(self, app: str) -> None:
        self._device.input.key("KEYCODE_HOME")
        self.tap(app)

    def pulls_the_shade(self) -> None:
        self._device.input.swipe(540, 5, 540, 1500)
