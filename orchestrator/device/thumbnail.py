"""A screenshot for a terminal: two pixels a character, in 24-bit colour."""

from __future__ import annotations

import io

from PIL import Image

from .screen import Screenshot


def thumbnail(shot: Screenshot, columns: int = 44) -> str:
    """Upper half blocks: the foreground is the upper pixel, the background the lower one."""
    rows = round(columns * shot.height / shot.width / 2)
    with Image.open(io.BytesIO(shot.png)) as image:
        small = image.convert("RGB").resize((columns, rows * 2), Image.Resampling.LANCZOS)
    data = small.tobytes()
    lines = []
    for row in range(rows):
        line = ""
        for column in range(columns):
            upper, lower = (((row * 2 + half) * columns + column) * 3 for half in (0, 1))
            ink = ";".join(str(part) for part in data[upper : upper + 3])
            ground = ";".join(str(part) for part in data[lower : lower + 3])
            line += f"\x1b[38;2;{ink}m\x1b[48;2;{ground}m▀"
        lines.append(line + "\x1b[0m")
    return "\n".join(lines)
