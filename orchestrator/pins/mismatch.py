"""Is the device found the one that the image's lock names? Pure.

A pin is what no reset can change: the build, the emulator, adb, the AVD and its snapshot's content.
What a reset brings back (boot id, marker) is the reset's own proof.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from .host import unknown
from .image_lock import ImageLock, parse_ini
from .sdk_tools import adb_release, emulator_release

# By pin. Whoever is not there is not asked, and its pins are missing here; who is there must
# answer: None says that it did not.
Found = Mapping[str, str | None]
_NAMED = 5  # keys of config.ini that differ, before the rest is counted


def baked_pins(lock: ImageLock) -> dict[str, str | None]:
    """What a device of this image says of itself."""
    return {
        "fingerprint": lock.fingerprint,
        "emulator_version": lock.emulator_version,
        "adb_version": lock.adb_version,
        "avd": lock.avd,
        "config_ini": lock.config_ini,
        "snapshot": lock.snapshot,
        "snapshot_sha256": lock.snapshot_sha256,
    }


def mismatches(lock: ImageLock, found: Found) -> list[str]:
    """One sentence for each pin that differs, with both values."""
    wrong = []
    for name, was in baked_pins(lock).items():
        if was is None or name not in found:
            continue
        now = found[name]
        if now is None:
            wrong.append(f"{name} was not told, baked was {_shown(name, was)}")
        elif name == "config_ini":
            wrong += _config(parse_ini(was), parse_ini(now))
        elif _plain(name, now) != _plain(name, was):
            wrong.append(f"{name} is {_plain(name, now)}, baked was {_plain(name, was)}")
    return wrong


def compared_pins(lock: ImageLock, found: Found) -> dict[str, dict[str, Any]]:
    """Each pin with both values, for the record; config.ini by its digest."""
    return {
        name: {"baked": _shown(name, was), "found": _shown(name, found.get(name), name in found)}
        for name, was in baked_pins(lock).items()
    }


def _config(was: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """By its keys: an emulator may write the file anew, in another order."""
    keys = [key for key in sorted({*was, *now}) if was.get(key) != now.get(key)]
    told = [
        f"config.ini {key} is {now.get(key, 'missing')}, baked was {was.get(key, 'missing')}"
        for key in keys[:_NAMED]
    ]
    more = len(keys) - _NAMED
    return [*told, f"config.ini differs in {more} more keys"] if more > 0 else told


def _plain(name: str, value: str) -> str:
    """Without what tells of the machine or the process rather than of the release."""
    plain = {"adb_version": adb_release, "emulator_version": emulator_release}.get(name)
    return plain(value) if plain else value


def _shown(name: str, value: str | None, asked: bool = True) -> Any:
    if value is None:
        return unknown("it was not told" if asked else "there was nobody to ask")
    if name == "config_ini":
        return f"sha256 {hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return _plain(name, value)
