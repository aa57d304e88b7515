"""The clipboard: apps write and paste it; API 34 has no shell command that reads it."""

from __future__ import annotations

from ..state import Json


class Clipboard:
    def __init__(self) -> None:
        self.text = ""

    def save(self) -> Json:
        return self.text

    def load(self, state: Json) -> None:
        self.text = str(state)
