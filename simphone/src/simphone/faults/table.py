"""Every class of fault by its name: where it can happen and what it does.

The points, and the values that pass:

    start               the AVD's name, before anything of it is touched (str)
    start.snapshot      the tag that a start with -snapshot is about to load (str)
    adbd.accept         how a host that connects is received (Reception); an OSError drops it
    adbd.service        the name of a service that is opened (str); an OSError refuses it
    adbd.exit           the exit code of a shell command, as adb will be told (int; None: not told)
    sync.stat           the answer to a push or pull that asks about a file (bytes)
    shell               the text of a command that adb is about to run (str)
    shell.delay         the seconds until it begins (float)
    shell.stdout        bytes of a command's stdout, as adb will be sent (bytes)
    program             the words of a program that is about to run (list[str])
    service             the name of a service that is looked for (str); another is not found
    screencap           the picture that screencap is about to write (bytes)
    uiautomator.idle    whether the screen has come to rest (bool)
    uiautomator.window  the window that is about to be dumped (Window | None)
    uiautomator.dump    the XML that uiautomator is about to write (str)
    settings.get        the line `settings get` is about to print, without its newline (str)
    settings.put        the value `settings put` is about to keep (str)
    content.<verb>      what `content query|insert|...` is about to print (str)
    boot.next           the name of the effect that completes a boot (str)
    boot.completed      None, when a boot is completed
    snapshot.prepare    the tag that is about to be loaded (str)
    snapshot.load       whether a verified snapshot is really restored (bool)
    snapshot.loaded     the tag, when it is (str)
    console.command     a line for the console, but for `auth`, `quit`, `help`, `sim-fault` (str)
    console.reply       the reply to one such line (str)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .answers import ANSWERS
from .guest import GUEST
from .machine import MACHINE
from .order import FaultClass, FaultOrder, read_order
from .start import START

if TYPE_CHECKING:
    from .seam import ArmedFault

FAULTS: dict[str, FaultClass] = {one.name: one for one in (*START, *MACHINE, *GUEST, *ANSWERS)}


def ordered(words: Sequence[str]) -> FaultOrder:
    """BadOrder where the words arm nothing."""
    return read_order(words, FAULTS)


def classes() -> str:
    """One line for each class: its name, its points, what it does."""
    return "".join(f"{one.name}  {','.join(one.points)}  {one.does}\r\n" for one in FAULTS.values())


def listing(armed: Iterable[ArmedFault]) -> str:
    """One line for each: the words that armed it, and what has come of it."""
    return (
        "".join(
            f"{one.order} armed={'yes' if one.armed else 'no'} passages={one.passages} "
            f"happened={one.happened}\r\n"
            for one in armed
        )
        or "There is no fault armed.\r\n"
    )
