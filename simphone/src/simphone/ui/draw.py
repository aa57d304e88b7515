"""The tree as a picture."""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from .fonts import face
from .icons import GLYPHS
from .node import HEIGHT, WIDTH, Fill, Icon, Label, Node, Rect

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

SMOOTH = 4  # corners are drawn this much larger and scaled down
LARGEST_SMOOTH = 400  # px; larger boxes get plain corners, nobody sees the difference


@lru_cache(maxsize=32)
def rounded_mask(width: int, height: int, radius: int) -> Image:
    from PIL import Image, ImageDraw

    mask = Image.new("L", (width * SMOOTH, height * SMOOTH), 0)
    box = (0, 0, width * SMOOTH - 1, height * SMOOTH - 1)
    ImageDraw.Draw(mask).rounded_rectangle(box, radius * SMOOTH, fill=255)
    return mask.resize((width, height), Image.Resampling.LANCZOS)


def fill(image: Image, pen: ImageDraw, box: Rect, paint: Fill) -> None:
    corners = (box.left, box.top, box.right - 1, box.bottom - 1)
    if box.width <= 0 or box.height <= 0:
        return
    if paint.opacity < 255:
        from PIL import Image

        veil = Image.new("L", (box.width, box.height), paint.opacity)
        image.paste(paint.colour, (box.left, box.top), veil)
    elif paint.outline:
        pen.rounded_rectangle(
            corners, paint.radius, fill=paint.colour or None, outline=paint.outline, width=3
        )
    elif not paint.radius:
        pen.rectangle(corners, fill=paint.colour)
    elif max(box.width, box.height) <= LARGEST_SMOOTH:
        mask = rounded_mask(box.width, box.height, min(paint.radius, box.height // 2))
        image.paste(paint.colour, (box.left, box.top), mask)
    else:
        pen.rounded_rectangle(corners, min(paint.radius, box.height // 2), fill=paint.colour)


def label(pen: ImageDraw, box: Rect, paint: Label) -> None:
    font = face(paint.size, paint.weight)
    step = round(paint.size * paint.leading)
    top = box.top + (box.height - step * len(paint.lines)) // 2
    for number, line in enumerate(paint.lines):
        y = top + number * step + step // 2
        if paint.align == "centre":
            pen.text((box.centre[0], y), line, paint.colour, font, anchor="mm")
        elif paint.align == "right":
            pen.text((box.right, y), line, paint.colour, font, anchor="rm")
        else:
            pen.text((box.left, y), line, paint.colour, font, anchor="lm")


def icon(pen: ImageDraw, box: Rect, paint: Icon) -> None:
    pen.text(box.centre, GLYPHS[paint.name], paint.colour, face(paint.size, "Icons"), anchor="mm")


def picture(roots: Iterable[Node]) -> Image:
    """All windows, lowest first, as one frame."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (WIDTH, HEIGHT), "black")
    pen = ImageDraw.Draw(image)
    for root in roots:
        for node in root.walk():
            for paint in node.paint:
                if isinstance(paint, Fill):
                    fill(image, pen, node.frame, paint)
                elif isinstance(paint, Label):
                    label(pen, node.frame, paint)
                else:
                    icon(pen, node.frame, paint)
    return image


def png(roots: Iterable[Node]) -> bytes:
    """The frame as `screencap -p` writes it."""
    buffer = io.BytesIO()
    picture(roots).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def signature(roots: Iterable[Node]) -> Hashable:
    """Equal for frames that would be drawn alike."""
    return tuple((node.frame, node.paint) for root in roots for node in root.walk() if node.paint)
