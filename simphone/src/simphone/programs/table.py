"""Every program of the phone, by the name it has in /system/bin."""

from __future__ import annotations

from ..disk import Disk
from . import (
    am,
    appops,
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
    monkey,
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

_MODULES = (
    am, appops, archive, cmd, compare, content, date, dumpsys, encode, files, find, grep, ime,
    input, listing, logcat, machine, monkey, paths, pm, printing, props, radios, screen, sed,
    service, settings, shells, sorting, sqlite, tasks, telecom, text, wm,
)  # fmt: skip
PROGRAMS: dict[str, Program] = {
    name: program for module in _MODULES for name, program in module.PROGRAMS.items()
}

# What a look into a program's file shows; nothing on the phone is machine code.
IMAGE = b"\x7fELF\x02\x01\x01" + bytes(57)


def install(disk: Disk) -> None:
    """Make /system/bin list the programs."""
    for name in PROGRAMS:
        disk.virtual[f"/system/bin/{name}"] = lambda: IMAGE
