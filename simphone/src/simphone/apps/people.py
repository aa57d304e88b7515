"""Who a number belongs to, and the look of a person's badge."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..providers import contacts
from ..providers.numbers import MIN_MATCH, normalized, same
from ..ui.node import Fill, Icon, Label, Node, Rect
from ..ui.widgets import box

if TYPE_CHECKING:
    from ..world import World

COLOURS = ("#3F6FB5", "#7A5AB8", "#B8604E", "#2F8F83", "#B4761F", "#4E8A3A", "#A8487E", "#53658C")
DIALLABLE = frozenset("0123456789+*#")

Directory = Callable[[str], contacts.Contact | None]


def directory(world: World) -> Directory:
    """Finds a number's owner; everybody is read once, so that a long list stays quick."""
    by_tail: dict[str, list[tuple[str, contacts.Contact]]] = {}
    for person in contacts.contacts(world):
        for phone in person.phones:
            by_tail.setdefault(normalized(phone)[-MIN_MATCH:], []).append((phone, person))

    def owner(number: str) -> contacts.Contact | None:
        known = by_tail.get(normalized(number)[-MIN_MATCH:], ())
        return next((person for phone, person in known if same(phone, number)), None)

    return owner


def named(owner: Directory, number: str) -> str:
    """The name this number goes by."""
    person = owner(number)
    return (person.name if person else number) or "Unknown"


def colour(name: str) -> str:
    """The same person always has the same colour."""
    return COLOURS[sum(name.encode()) % len(COLOURS)]


def badge(name: str) -> dict[str, str]:
    """What a row shows before this name: an initial, or a head for what has none."""
    return {"avatar": colour(name), "icon": "" if name[:1].isalpha() else "account"}


def face(name: str, x: int, y: int, half: int) -> Node:
    """The same on a disc around this point."""
    letter = Label((name[:1].upper(),), half * 7 // 8, "#FFFFFF", "Medium", "centre")
    inside = letter if name[:1].isalpha() else Icon("account", half * 9 // 8, "#FFFFFF")
    return box(Rect(x - half, y - half, x + half, y + half), Fill(colour(name), half), inside)


def dialled(text: str) -> str:
    """The number as it is dialled; empty where the text is not one."""
    bare = normalized(text)
    return bare if bare and set(bare) <= DIALLABLE and any(c.isdigit() for c in bare) else ""
