"""Faults of what the phone answers: pictures, trees, exit codes, services, the console.

Each but the last two is a change of the value that passes one point; nothing else of the phone
knows of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..console.session import Refused
from ..system import SERVICE_NAMES
from ..ui import draw
from ..ui.node import SCREEN, Fill, Node
from .order import ALWAYS, FaultArgument, FaultClass, FaultOrder

if TYPE_CHECKING:
    from ..phone import Phone

Change = Callable[[Any], Any]
PNG = b"\x89PNG\r\n\x1a\n"
RAW_HEADER = 16  # of a picture without -p
CALENDARS = "content://com.android.calendar/calendars"


def changed(change: Change) -> Callable[[Phone, FaultOrder], Change]:
    return lambda phone, order: change


def _carriage_returns(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def _first_half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _black(picture: bytes) -> bytes:
    if picture.startswith(PNG):
        return draw.png([Node(SCREEN, paint=(Fill("#000000"),))])
    return picture[:RAW_HEADER] + b"\0\0\0\xff" * ((len(picture) - RAW_HEADER) // 4)


def _stale(phone: Phone, order: FaultOrder) -> Change:
    """The first answer that it changes is given again for all that follow."""
    first: list[str] = []

    def change(xml: str) -> str:
        first.append(xml)
        return first[0]

    return change


def _ko(line: str) -> str:
    load = line.startswith("avd snapshot load")
    raise Refused("Error -22 while loading VM state" if load else "internal error")


def _silent(line: str) -> str:
    raise Refused  # no line at all


def _service_name(text: str) -> str | None:
    return text if text in SERVICE_NAMES else None


_SERVICE = FaultArgument("service", "input", "one that `service list` shows", _service_name)

ANSWERS = (
    FaultClass(
        "exit-code-lost", ("adbd.exit",), "a command's exit code is told as 0",
        changed(lambda code: 0), ALWAYS, concerns=lambda code, _: bool(code),
    ),
    FaultClass(
        "stdout-mangled", ("shell.stdout",), "each line of a command's output ends in CR LF",
        changed(_carriage_returns), ALWAYS, concerns=lambda data, _: b"\n" in data,
    ),
    FaultClass(
        "screencap-empty", ("screencap",), "a screenshot has no byte; exit 0",
        changed(lambda picture: b""),
    ),
    FaultClass(
        "screencap-truncated", ("screencap",), "a screenshot ends half-way; exit 0",
        changed(_first_half), ALWAYS,
    ),
    FaultClass(
        "screencap-black", ("screencap",), "a screenshot is whole and black; exit 0",
        changed(_black),
    ),
    FaultClass(
        "settings-empty", ("settings.get",), "a missing setting is an empty line, not `null`",
        changed(lambda line: ""), ALWAYS, concerns=lambda line, _: line == "null",
    ),
    FaultClass(
        "ui-null-root", ("uiautomator.window",),
        "`ERROR: null root node returned by UiTestAutomationBridge.`", changed(lambda window: None),
    ),
    FaultClass(
        "ui-never-idle", ("uiautomator.idle",), "`ERROR: could not get idle state.`",
        changed(lambda idle: False),
    ),
    FaultClass(
        "ui-dump-broken", ("uiautomator.dump",), "a dump lacks its last tag",
        changed(lambda xml: xml.removesuffix("</hierarchy>")), ALWAYS,
    ),
    FaultClass(
        "dump-stale", ("uiautomator.dump",), "every dump shows what the first one showed",
        _stale, ALWAYS,
    ),
    FaultClass(
        "calendars-missing", ("program",), "a query for the calendars says that there are none",
        changed(lambda words: [*words, "--where", "0"]), ALWAYS,
        concerns=lambda words, _: "query" in words and CALENDARS in words,
    ),
    FaultClass(
        "service-missing", ("service",), "a look for the service fails: `cmd: Can't find service: "
        "input`", changed(lambda name: ""), argument=_SERVICE,
        concerns=lambda name, wanted: name == wanted,
    ),
    FaultClass(
        "console-ko", ("console.command",),
        "a command is not carried out: `KO: internal error`, for a load "
        "`KO: Error -22 while loading VM state`", changed(_ko),
    ),
    FaultClass(
        "console-silent", ("console.command",), "a command is neither carried out nor answered",
        changed(_silent),
    ),
    FaultClass(
        "console-ko-as-ok", ("console.reply",), "a refusal is told as `OK`",
        changed(lambda reply: "OK\r\n"), ALWAYS,
        concerns=lambda reply, _: re.search(r"^KO:", reply, re.MULTILINE) is not None,
    ),
)  # fmt: skip
