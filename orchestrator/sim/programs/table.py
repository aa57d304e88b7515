"""Every program of the phone, by the name it has in /system/bin."""

from __future__ import annotations

from ..disk import Disk
from . import (
    am,
    archive,
    cmd,
    compare,
    content,
    date,
    dumpsys,
    encode,
    files,
    find,
    grep,
    ime,
    input,
    listing,
    logcat,
    machine,
    paths,
    pm,
    printing,
    props,
    radios,
    screen,
    sed,
    service,
    settings,
    shells,
    sorting,
    sqlite,
    tasks,
    telecom,
    text,
    wm,
)
from .call import Program

PROGRAMS: dict[str, Program] = {
    **am.PROGRAMS,
    **archive.PROGRAMS,
    **cmd.PROGRAMS,
    **compare.PROGRAMS,
    **content.PROGRAMS,
    **date.PROGRAMS,
    **dumpsys.PROGRAMS,
    **encode.PROGRAMS,
    **files.PROGRAMS,
    **find.PROGRAMS,
    **grep.PROGRAMS,
    **ime.PROGRAMS,
    **input.PROGRAMS,
    **listing.PROGRAMS,
    **logcat.PROGRAMS,
    **machine.PROGRAMS,
    **paths.PROGRAMS,
    **pm.PROGRAMS,
    **printing.PROGRAMS,
    **props.PROGRAMS,
    **radios.PROGRAMS,
    **screen.PROGRAMS,
    **sed.PROGRAMS,
    **service.PROGRAMS,
    **settings.PROGRAMS,
    **shells.PROGRAMS,
    **sorting.PROGRAMS,
    **sqlite.PROGRAMS,
    **tasks.PROGRAMS,
    **telecom.PROGRAMS,
    **text.PROGRAMS,
    **wm.PROGRAMS,
}

# What a look into a program's file shows; nothing on the phone is machine code.
IMAGE = b"\x7fELF\x02\x01\x01" + bytes(57)


def install(disk: Disk) -> None:
    """Make /system/bin list the programs."""
    for name in PROGRAMS:
        disk.virtual[f"/system/bin/{name}"] = lambda: IMAGE
