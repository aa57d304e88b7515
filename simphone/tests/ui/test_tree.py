"""One tree behind the picture, the dump and the taps."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from simphone.ui import draw, dump, fonts, theme
from simphone.ui.node import SCREEN, Fill, Node, Rect, clipped, hit
from simphone.ui.scaffold import page
from simphone.ui.screen import Screen
from simphone.ui.widgets import row, text

ROWS = 60


def long_page(screen: Screen) -> Node:
    return page(
        screen, "Many rows", [row(f"Row {n}", icon="wifi", tap=lambda: None) for n in range(ROWS)]
    )


def shown(root: Node) -> list[str]:
    return [node.text for node in root.walk() if node.text.startswith("Row ")]


def test_rows_off_the_screen_are_absent_from_the_tree() -> None:
    rows = shown(long_page(Screen(".Main")))
    assert rows[0] == "Row 0"
    assert 0 < len(rows) < ROWS


def test_scrolling_to_the_end_shows_the_last_row_and_not_the_first() -> None:
    rows = shown(long_page(Screen(".Main", scroll={"list": 10**6})))
    assert rows[-1] == f"Row {ROWS - 1}"
    assert "Row 0" not in rows


def test_a_list_from_its_end_starts_at_the_last_row() -> None:
    pieces = [text(f"Row {n}") for n in range(ROWS)]
    assert shown(page(Screen(".Main"), "Chat", pieces, from_end=True))[-1] == f"Row {ROWS - 1}"


def test_a_row_half_off_the_screen_has_only_its_visible_part_as_bounds() -> None:
    root = long_page(Screen(".Main", scroll={"list": 70}))
    top = theme.STATUS_BAR + theme.APP_BAR
    first = next(n for n in root.walk() if n.kind == "android.widget.LinearLayout")
    assert first.bounds.top == top > first.frame.top


def test_what_is_clipped_away_cannot_be_hit() -> None:
    child = Node(Rect(0, 100, 50, 150), tap=lambda: None)
    seen = clipped(Node(Rect(0, 0, 100, 200), children=(child,)), Rect(0, 0, 100, 120))
    assert seen is not None
    assert hit(seen, 10, 110, lambda n: n.clickable) is not None
    assert hit(seen, 10, 130, lambda n: n.clickable) is None


def test_the_topmost_node_takes_the_tap() -> None:
    below = Node(SCREEN, tap=lambda: None, text="below")
    above = Node(Rect(0, 0, 10, 10), tap=lambda: None, text="above")
    found = hit(Node(SCREEN, children=(below, above)), 5, 5, lambda n: n.clickable)
    assert found is not None
    assert found.text == "above"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_any_text_survives_the_dump_as_well_formed_xml(content: str) -> None:
    """Only what XML 1.0 cannot carry is replaced, each character by a full stop."""
    document = dump.hierarchy(Node(SCREEN, text=content), "com.example")
    node = ET.fromstring(document.encode("utf-8", "surrogatepass")).find("node")
    assert node is not None
    assert node.get("text") == dump.UNWRITABLE.sub(".", content)


def test_decoration_is_drawn_but_not_dumped() -> None:
    root = long_page(Screen(".Main"))
    assert any(not node.kind for node in root.walk())
    assert 'class=""' not in dump.hierarchy(root, "com.example")


def test_bounds_in_the_dump_are_where_the_picture_has_the_words() -> None:
    """Inside a row's bounds there is ink; in the gap below the last row there is none."""
    root = page(Screen(".Main"), "One", [row("Only row", tap=lambda: None)])
    image = draw.picture([root])
    title = next(node for node in root.walk() if node.text == "Only row")
    assert len(ink(image, title.bounds)) > 1
    assert len(ink(image, Rect(100, 1500, 900, 1600))) == 1


def ink(image: Image.Image, area: Rect) -> list[tuple[int, object]]:
    colours = image.crop(area).getcolors(1 << 20)
    assert colours is not None
    return list(colours)


def test_a_frame_is_a_full_size_png() -> None:
    png = draw.png([Node(SCREEN, paint=(Fill("#123456"),))])
    assert png.startswith(b"\x89PNG")
    assert png.endswith(b"IEND\xaeB`\x82")
    width, height = re.findall(rb"IHDR(....)(....)", png, re.DOTALL)[0]
    assert (int.from_bytes(width), int.from_bytes(height)) == (1080, 2400)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200), st.integers(60, 900))
def test_wrapped_lines_fit_and_lose_no_word(content: str, room: int) -> None:
    lines = fonts.wrap(content, 42, room)
    assert all(len(line) <= 1 or fonts.width(line, 42) <= room for line in lines)
    assert "".join("".join(lines).split()) == "".join(content.split())
