"""How large is the phone's screen?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .faults import DeviceFault
from .shell import Shell


@dataclass(frozen=True)
class Display:
    """What apps see: an override, where there is one, stands before the physical value."""

    width: int
    height: int
    density: int
    overridden: bool


def parse_display(size: str, density: str) -> Display:
    sizes = re.findall(r"^(Physical|Override) size: (\d+)x(\d+)\s*$", size, re.MULTILINE)
    densities = re.findall(r"^(Physical|Override) density: (\d+)\s*$", density, re.MULTILINE)
    if not sizes or not densities:
        raise DeviceFault("bad_answer", f"{size!r} {density!r}", during="wm size, wm density")
    # Sorted by its first word, an override comes before the physical value.
    kind, width, height = min(sizes)
    density_kind, value = min(densities)
    overridden = "Override" in (kind, density_kind)
    return Display(int(width), int(height), int(value), overridden)


def display(shell: Shell) -> Display:
    return parse_display(shell.answer("wm", "size"), shell.answer("wm", "density"))
