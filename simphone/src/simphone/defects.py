"""The defects that `-sim-fault NAME` plants: lies a real phone could tell.

Each entry names the point it is planted at and what it makes of the value that passes there.
The points, and the values that pass:

    adbd.accept       whether a host that connects is answered (bool); an OSError drops it
    adbd.service      the name of a service that is opened (str); an OSError refuses it
    adbd.exit         the exit code of a shell command, as adb will be told (int; None: not told)
    program           the words of a program that is about to run (list[str])
    shell.stdout      bytes of a command's stdout, as adb will be sent (bytes)
    screencap         the PNG that screencap is about to write (bytes)
    settings.get      the line `settings get` is about to print, without its newline (str)
    settings.put      the value `settings put` is about to keep (str)
    content.<verb>    what `content query|insert|...` is about to print (str)
    uiautomator.dump  the XML that uiautomator is about to write (str)
    snapshot.load     whether a verified snapshot is really restored (bool)
    console.reply     the reply to one console command (str)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .faults import Plant


def _exit_lost(code: Any) -> int:
    return 0


def _carriage_returns(data: Any) -> bytes:
    return bytes(data).replace(b"\n", b"\r\n")


def _first_half(png: Any) -> bytes:
    return bytes(png)[: len(png) // 2]


def _null_unsaid(line: Any) -> str:
    return "" if line == "null" else str(line)


def _never_closed(xml: Any) -> str:
    return str(xml).removesuffix("</hierarchy>")


def _without_calendars(words: Any) -> list[str]:
    """Whoever asks for the calendars themselves is told that there are none; events are there."""
    asks = "query" in words and "content://com.android.calendar/calendars" in words
    return [*words, "--where", "0"] if asks else list(words)


def _not_restored(wanted: Any) -> bool:
    return False


def _always_ok(reply: Any) -> str:
    return "OK\r\n" if "KO:" in str(reply) else str(reply)


class _Stale:
    """Answers the first time as it should, and then for ever the same."""

    def __init__(self) -> None:
        self._first: str | None = None

    def __call__(self, xml: Any) -> str:
        if self._first is None:
            self._first = str(xml)
        return self._first


# A class is planted as a fresh instance of it, for it remembers.
DEFECTS: dict[str, tuple[str, Plant | type[_Stale]]] = {
    "exit-code-lost": ("adbd.exit", _exit_lost),
    "stdout-mangled": ("shell.stdout", _carriage_returns),
    "screencap-truncated": ("screencap", _first_half),
    "settings-empty": ("settings.get", _null_unsaid),
    "ui-dump-broken": ("uiautomator.dump", _never_closed),
    "dump-stale": ("uiautomator.dump", _Stale),
    "calendars-missing": ("program", _without_calendars),
    "snapshot-load-noop": ("snapshot.load", _not_restored),
    "console-ko-as-ok": ("console.reply", _always_ok),
}


def planted(names: Iterable[str]) -> dict[str, Plant]:
    """What to give to Faults; of two defects at one point the last is planted."""
    plants: dict[str, Plant] = {}
    for name in names:
        point, plant = DEFECTS[name]
        plants[point] = plant() if isinstance(plant, type) else plant
    return plants
