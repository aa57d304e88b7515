"""Compares the pins found on a device with its image lock (`pin_mismatch`). Pure.

A pin is a fact that no reset changes: the build, the emulator, adb, the AVD and the content of its
snapshot. What a reset restores (boot id, marker) is the proof of the reset instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from .host import unknown
from .image_lock import ImageLock, parse_ini
from .sdk_tools import adb_release, emulator_release

# By pin. A pin is missing where nobody could be asked, and None where the answer was missing.
FoundPins = Mapping[str, str | None]
_PINS = (
    "fingerprint", "emulator_version", "adb_version", "avd", "config_ini", "snapshot",
    "snapshot_sha256",
)  # fmt: skip
_NAMED = 5  # keys of config.ini that differ, before the rest is counted


def baked_pins(lock: ImageLock) -> dict[str, str | None]:
    """The pins that every device of this image must have."""
    return {name: getattr(lock, name) for name in _PINS}


def mismatches(lock: ImageLock, found: FoundPins) -> list[str]:
    """One sentence for each pin that differs, with both values."""
    wrong = []
    for name, was in baked_pins(lock).items():
        if was is None or name not in found:
            continue
        now = found[name]
        if now is None:
            wrong.append(f"{name} was not reported, baked was {_show(name, was)}")
        elif name == "config_ini":
            wrong += _config(parse_ini(was), parse_ini(now))
        elif _release(name, now) != _release(name, was):
            wrong.append(f"{name} is {_release(name, now)}, baked was {_release(name, was)}")
    return wrong


def compared_pins(lock: ImageLock, found: FoundPins) -> dict[str, dict[str, Any]]:
    """Each pin with both values, for the evidence; config.ini by its digest."""
    return {
        name: {"baked": _show(name, was), "found": _show(name, found.get(name), name in found)}
        for name, was in baked_pins(lock).items()
    }


def _config(was: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Compared by key, because an emulator may rewrite the file in another order."""
    keys = [key for key in sorted({*was, *now}) if was.get(key) != now.get(key)]
    named = [
        f"config.ini {key} is {now.get(key, 'missing')}, baked was {was.get(key, 'missing')}"
        for key in keys[:_NAMED]
    ]
    more = len(keys) - _NAMED
    return [*named, f"config.ini differs in {more} more keys"] if more > 0 else named


def _release(name: str, value: str) -> str:
    """Without what depends on the machine or the process instead of the release."""
    plain = {"adb_version": adb_release, "emulator_version": emulator_release}.get(name)
    return plain(value) if plain else value


def _show(name: str, value: str | None, asked: bool = True) -> Any:
    if value is None:
        return unknown("it was not reported" if asked else "nobody could be asked")
    if name == "config_ini":
        return f"sha256 {hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return _release(name, value)
