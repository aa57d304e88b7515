"""What every page of the Settings app is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ui.node import Node
from ..ui.scaffold import page
from ..ui.screen import Screen
from ..ui.widgets import Piece, row

if TYPE_CHECKING:
    from ..world import World


def subpage(world: World, screen: Screen, title: str, pieces: list[Piece]) -> Node:
    return page(screen, title, pieces, up=world.windows.back)


def switch_row(
    world: World,
    space_: str,
    name: str,
    title: str,
    *,
    icon: str = "",
    values: tuple[str, str] = ("0", "1"),
) -> Piece:
    """A setting with two values: off, and on."""
    on = world.settings.get(space_, name) == values[1]

    def flip() -> None:
        world.settings.put(space_, name, values[not on])

    return row(title, icon=icon, on=on, tap=flip, id=name)
