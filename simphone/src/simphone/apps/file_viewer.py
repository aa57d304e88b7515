"""A file is looked at: words to scroll through, a picture as a box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ui import theme
from ..ui.node import WIDTH, Fill, Node, Rect
from ..ui.scaffold import app_bar
from ..ui.screen import Screen
from ..web.document import MOST_LETTERS, of_image, of_text
from ..web.layout import Nobody, heights, page_area
from . import file_deeds as deeds
from . import file_kinds as kinds

if TYPE_CHECKING:
    from ..world import World

VIEWER = ".ViewerActivity"


def viewer(world: World, path: str) -> Screen | None:
    """A screen that shows the file as it is now; None for what cannot be shown or read."""
    name = kinds.shown(path.rpartition("/")[2])
    kind = kinds.kind(name)
    try:
        if kind == "text":
            with world.disk.open(path, deeds.uid(world)) as opened:
                # Four bytes are the most that a letter takes; one letter more shows that it is cut.
                words = opened.read(4 * (MOST_LETTERS + 1)).decode("utf-8", "replace")
            page = of_text(path, name, words)
        elif kind == "image":
            entry = deeds.item(world, path)
            page = of_image(path, name, f"{name} ({kinds.size(entry.size)})")
        else:
            return None
    except OSError:
        return None
    return Screen(VIEWER, {"path": path, "page": page, "heights": heights(page)})


def viewer_page(world: World, screen: Screen) -> Node:
    top = theme.STATUS_BAR + theme.APP_BAR
    view = Rect(0, top, WIDTH, theme.CONTENT_BOTTOM)
    page = screen.args["page"]
    area = page_area(page, screen.args["heights"], screen, view, Nobody())
    return Node(
        Rect(0, 0, WIDTH, theme.CONTENT_BOTTOM),
        "android.widget.FrameLayout",
        paint=(Fill(theme.SURFACE),),
        children=(area, app_bar(page["title"], world.windows.back, ())),
    )
