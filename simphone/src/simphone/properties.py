"""System properties, with init's rules: `ro.` is written once, names and values are bounded."""

from __future__ import annotations

from .state import Json


class Properties:
    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def get(self, name: str) -> str:
        """The value, or the empty string: Android knows no difference."""
        return self._values.get(name, "")

    def set(self, name: str, value: str) -> bool:
        """False where init would refuse."""
        if not name or (name.startswith("ro.") and name in self._values):
            return False
        if len(value) > 91 and not name.startswith("ro."):
            return False
        self._values[name] = value
        return True

    def force(self, name: str, value: str) -> None:
        """What init itself does at boot."""
        self._values[name] = value

    def clear(self) -> None:
        self._values = {}

    def items(self) -> list[tuple[str, str]]:
        return sorted(self._values.items())

    def save(self) -> Json:
        return dict(self._values)

    def load(self, state: Json) -> None:
        self._values = {str(name): str(value) for name, value in state.items()}
