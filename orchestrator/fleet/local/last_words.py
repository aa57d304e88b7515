"""What did a device's programs say last? Where the cause of an end stands, it stands there."""

from __future__ import annotations

from pathlib import Path

from .device import LocalDevice

_TAIL = 2000


def last_words(device: LocalDevice) -> str:
    """The supervisor's and the emulator's."""
    spoken = (tail(device.folder / "supervisor.log", 500), tail(device.log))
    return "\n".join(text for text in spoken if text)


def tail(path: Path, count: int = _TAIL) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - count))
            return file.read(count).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""  # it said nothing
