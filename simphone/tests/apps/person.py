"""A person in front of a phone: reads the dump of the focused window, touches coordinates.

Whatever is asked for must be on the screen in words; nothing here reaches into an app.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from xml.etree import ElementTree

from simphone.ui import dump, touch
from simphone.ui.node import Rect
from simphone.world import World

BOUNDS = re.compile(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]")
HOME, BACK, ENTER, BACKSPACE = 3, 4, 66, 67
SWIPES = 60  # more than any list here needs


@dataclass(frozen=True)
class Seen:
    """One element of the dump."""

    text: str
    desc: str
    id: str
    kind: str
    bounds: Rect
    clickable: bool
    checked: bool
    focused: bool
    scrollable: bool

    def says(self, words: str) -> bool:
        return words in (self.text, self.desc)


def seen(element: ElementTree.Element) -> Seen:
    place = BOUNDS.fullmatch(element.get("bounds", ""))
    assert place is not None, f"unreadable bounds: {element.attrib}"
    left, top, right, bottom = (int(edge) for edge in place.groups())
    return Seen(
        text=element.get("text", ""),
        desc=element.get("content-desc", ""),
        id=element.get("resource-id", "").rpartition("/")[2],
        kind=element.get("class", ""),
        bounds=Rect(left, top, right, bottom),
        clickable=element.get("clickable") == "true",
        checked=element.get("checked") == "true",
        focused=element.get("focused") == "true",
        scrollable=element.get("scrollable") == "true",
    )


class Person:
    def __init__(self, world: World) -> None:
        self.world = world

    # Looking

    def dump(self) -> str:
        self.world.tick()
        window = self.world.windows.focused()
        assert window is not None, "the screen is dark"
        return dump.hierarchy(window.root, window.package)

    def elements(self) -> list[Seen]:
        return [seen(element) for element in ElementTree.fromstring(self.dump()).iter("node")]

    def words(self) -> list[str]:
        """All that can be read, in drawing order."""
        return [words for each in self.elements() for words in (each.text, each.desc) if words]

    def sees(self, words: str) -> bool:
        """Whether these words stand anywhere, alone or within a longer text."""
        return any(words in text for text in self.words())

    def find(self, words: str) -> Seen:
        """The element with exactly these words; one that can be tapped before one that cannot."""
        found = [each for each in self.elements() if each.says(words)]
        assert found, f"{words!r} is not on the screen, which says {self.words()}"
        return next((each for each in found if each.clickable), found[0])

    def activity(self) -> str:
        return self.world.windows.focus_name()

    # Touching

    def tap(self, words: str) -> None:
        touch.tap(self.world, *self.find(words).bounds.centre)

    def hold(self, words: str) -> None:
        touch.long_press(self.world, *self.find(words).bounds.centre)

    def type(self, text: str) -> None:
        """On the keyboard, into the field that has it."""
        assert self.world.windows.typing() is not None, "no field has the keyboard"
        touch.type_text(self.world, text)

    def fill(self, field: str, text: str) -> None:
        """Taps the field of this name, clears it and types."""
        self.tap(field)
        for _ in self.find(field).text:
            touch.key(self.world, BACKSPACE)
        self.type(text)

    def enter(self) -> None:
        touch.key(self.world, ENTER)

    def back(self) -> None:
        touch.key(self.world, BACK)

    def home(self) -> None:
        touch.key(self.world, HOME)

    def open(self, label: str) -> None:
        """An app, from the home screen."""
        self.home()
        self.tap(label)

    def pull_shade(self) -> None:
        touch.swipe(self.world, (540, 10), (540, 1400), 200)

    def swipe_list(self, *, up: bool) -> None:
        """Half a list's height, as a finger does: up brings later rows."""
        listing = next((each for each in self.elements() if each.scrollable), None)
        assert listing is not None, f"nothing scrolls here: {self.words()}"
        x, y = listing.bounds.centre
        reach = listing.bounds.height // 4
        start, end = (y + reach, y - reach) if up else (y - reach, y + reach)
        touch.swipe(self.world, (x, start), (x, end), 300)

    def scroll_to(self, words: str, *, up: bool = True) -> None:
        """Swipes until the words are on the screen or the list ends."""
        for _ in range(SWIPES):
            if any(each.says(words) for each in self.elements()):
                return
            before = self.dump()
            self.swipe_list(up=up)
            if self.dump() == before:
                break
        raise AssertionError(f"{words!r} is nowhere in the list")

    # Waiting

    def wait_until(self, condition: Callable[[], bool], most_s: float = 60.0) -> None:
        """Lets the phone's time pass, without spending ours, until the condition holds."""
        passed, step = 0.0, 0.05
        while not condition():
            assert passed < most_s, f"still not so after {most_s} s; it says {self.words()}"
            clock = self.world.clock.save()
            clock["uptime_s"] += step
            clock["offset_s"] += step
            self.world.clock.load(clock)
            self.world.tick()
            passed += step

    def wait_for(self, words: str, most_s: float = 60.0) -> None:
        self.wait_until(lambda: self.sees(words), most_s)
