"""The picture alone is enough to use the phone: the way is found by colours and places."""

from __future__ import annotations

import io
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageChops

from tests.clients.conftest import Phone, until

# As they are drawn.
GREY_COG, BLUE_NETWORK, SWITCH_ON, KEYBOARD = "#5B6270", "#3B7DD8", "#3B5BA9", "#DCDDE5"
Box = tuple[int, int, int, int]


class Eyes:
    def __init__(self, phone: Phone) -> None:
        self._phone = phone

    def look(self) -> Image.Image:
        png = self._phone.adb("exec-out", "screencap", "-p").stdout
        return Image.open(io.BytesIO(png)).convert("RGB")

    def find(self, colour: str, within: Box = (0, 0, 1080, 2400)) -> Box | None:
        """The smallest box around everything of exactly this colour."""
        image = self.look().crop(within)
        red, green, blue = ImageChops.difference(
            image, Image.new("RGB", image.size, colour)
        ).split()
        apart = ImageChops.lighter(ImageChops.lighter(red, green), blue)
        mask = apart.point([255] + [0] * 255)
        box = mask.getbbox()
        if box is None:
            return None
        return box[0] + within[0], box[1] + within[1], box[2] + within[0], box[3] + within[1]

    def waits_for(self, colour: str, within: Box = (0, 0, 1080, 2400)) -> Box:
        found: list[Box] = []

        def there() -> bool:
            found[:] = [box] if (box := self.find(colour, within)) else []
            return bool(found)

        until(there, f"{colour} in the picture")
        return found[0]


def middle(box: Box) -> tuple[int, int]:
    return (box[0] + box[2]) // 2, (box[1] + box[3]) // 2


@pytest.fixture
def eyes(phone: Phone) -> Eyes:
    return Eyes(phone)


@pytest.fixture
def tap(phone: Phone) -> Callable[[int, int], object]:
    return lambda x, y: phone.sh(f"input tap {x} {y}")


def test_wifi_is_switched_off_by_sight(
    phone: Phone, eyes: Eyes, tap: Callable[[int, int], object]
) -> None:
    tap(*middle(eyes.waits_for(GREY_COG)))
    tap(*middle(eyes.waits_for(BLUE_NETWORK)))
    until(lambda: eyes.find(BLUE_NETWORK) is None, "the list of networks' settings")
    below_the_bar = (540, 350)
    tap(*below_the_bar)
    right_edge = (880, 200, 1080, 500)
    tap(*middle(eyes.waits_for(SWITCH_ON, right_edge)))
    until(lambda: eyes.find(SWITCH_ON, right_edge) is None, "a switch without its colour")
    assert phone.sh("settings get global wifi_on") == "0"


def test_words_are_typed_on_the_keys_one_can_see(
    phone: Phone, eyes: Eyes, tap: Callable[[int, int], object]
) -> None:
    tap(*middle(eyes.waits_for(GREY_COG)))
    eyes.waits_for(BLUE_NETWORK)
    tap(540, 340)  # the search box, above the list
    left, top, right, bottom = eyes.waits_for(KEYBOARD)
    column, row = (right - left) / 10, (bottom - top) / 4
    for letter in "wifi":
        line = next(n for n, keys in enumerate(("qwertyuiop", "asdfghjkl")) if letter in keys)
        place = ("qwertyuiop", "asdfghjkl")[line].index(letter) + 0.5 + line / 2
        tap(round(left + place * column), round(top + (line + 0.5) * row))
    green_security = "#3C8A5A"
    until(lambda: eyes.find(green_security) is None, "only what matches in the list")
    assert eyes.find(BLUE_NETWORK) is not None
    tree = ElementTree.fromstring(
        phone.out("exec-out", "uiautomator dump /dev/tty").partition("UI hier")[0]
    )
    bars = [node for node in tree.iter() if node.get("resource-id", "").endswith("search_bar")]
    assert [bar.get("text") for bar in bars] == ["wifi"]
