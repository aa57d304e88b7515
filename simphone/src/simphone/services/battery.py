"""The emulated battery: what the console sets, and everything else reads."""

from __future__ import annotations

from ..properties import Properties

LEVEL, PLUGGED = "vendor.qemu.battery.capacity", "vendor.qemu.battery.ac"


def level(properties: Properties) -> int:
    """Percent; full until somebody says otherwise. Root may have set the property to anything."""
    text = properties.get(LEVEL)
    return min(100, int(text)) if text.isascii() and text.isdigit() and len(text) < 4 else 100


def plugged(properties: Properties) -> bool:
    return properties.get(PLUGGED) != "0"


def set_level(properties: Properties, percent: int) -> None:
    properties.force(LEVEL, str(percent))


def set_plugged(properties: Properties, on: bool) -> None:
    properties.force(PLUGGED, "1" if on else "0")
