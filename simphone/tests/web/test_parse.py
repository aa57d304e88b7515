"""What a person sees of a page, whatever the markup."""

from __future__ import annotations

import json
from html import unescape
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simphone.ui.node import WIDTH, Node, Rect
from simphone.ui.screen import Screen
from simphone.web.controls import check, first_state, key, submission
from simphone.web.document import MOST_BLOCKS, MOST_CONTROLS, MOST_LETTERS, Document
from simphone.web.layout import Nobody, heights, page_area
from simphone.web.parse import parse_html
from simphone.web.tokens import tokens

BASE = "http://10.0.2.2:8000/shop/"


def page(html: str) -> Document:
    return parse_html(html, BASE)


def words(document: Document) -> list[str]:
    """Every block's words."""
    said = []
    for block in document["blocks"]:
        runs = block.get("runs", []) + [run for cell in block.get("cells", []) for run in cell]
        said.append("".join(run[0] for run in runs) or block.get("label", ""))
    return said


def links(document: Document) -> dict[str, str]:
    return {
        run[0]: run[2] for block in document["blocks"] for run in block.get("runs", []) if run[2]
    }


def area(document: Document, screen: Screen | None = None) -> Node:
    view = Rect(0, 200, WIDTH, 2200)
    return page_area(document, heights(document), screen or Screen("x"), view, Nobody())


def test_words_lists_and_headings_come_in_order_with_blanks_folded() -> None:
    document = page(
        "<title> A\n shop </title><h1>Boats</h1> We  have\n<b>many</b>.<ul><li>one<li>two</ul>"
        "<ol start=3><li>three</ol><p>end<br>line"
    )
    assert document["title"] == "A shop"
    assert words(document) == ["Boats", "We have many.", "one", "two", "three", "end\nline"]
    assert [block.get("mark", "") for block in document["blocks"]] == ["", "", "•", "•", "3.", ""]
    assert document["blocks"][0]["kind"] == "heading"


def test_links_are_seen_from_their_page_or_from_its_base() -> None:
    assert links(page("<a href=a?b=1>x</a> <a href='/y'>y</a><a href='tel:5'>z</a>")) == {
        "x": f"{BASE}a?b=1", "y": "http://10.0.2.2:8000/y", "z": "tel:5",
    }  # fmt: skip
    assert links(page("<base href='/deep/'><a href=a>x</a>"))["x"] == "http://10.0.2.2:8000/deep/a"


def test_a_link_without_words_says_what_a_screen_reader_would() -> None:
    assert words(page("<a href=/c aria-label='Open cart'></a>")) == ["Open cart"]


@pytest.mark.parametrize(
    "html",
    [
        "<p style='display: none'>secret<p>shown",
        "<style>.x{color:red;display:none} </style><div class='a x'>secret</div>shown",
        "<style>#h, p.y { visibility : hidden }</style><p id=h>secret<p class=y>secret</p>shown",
        "<div hidden><div><b>secret</div></div></div>shown",
        "<script>secret</script><style>secret</style><template>secret</template>shown",
        "<!-- secret --><dialog>secret</dialog>shown",
        "<ul><li style='display:none'>secret<li>shown</ul>",
    ],
)
def test_what_is_hidden_is_not_on_the_page(html: str) -> None:
    assert [said for said in words(page(html)) if said] == ["shown"]


def test_tables_are_rows_and_a_table_for_looks_is_plain() -> None:
    document = page("<table><tr><th>Item<th>Price<tr><td>Boat<td><a href=/b>9</a></table>")
    rows = [block for block in document["blocks"] if block["kind"] == "row"]
    assert [[cell[0][0] for cell in row["cells"]] for row in rows] == [
        ["Item", "Price"],
        ["Boat", "9"],
    ]
    assert [row["header"] for row in rows] == [True, False]
    assert "row" not in {b["kind"] for b in page("<table><tr><td>x</table>")["blocks"]}


def test_a_form_sends_what_a_browser_would() -> None:
    document = page(
        "<form action=/order method=POST><input type=hidden name=t value=1>"
        "<label for=n>Name</label><input id=n name=name><input name=off disabled value=x>"
        "<label><input type=checkbox name=ok> I agree</label>"
        "<input type=radio name=s value=slow checked> Slow "
        "<input type=radio name=s value=fast> Fast"
        "<select name=c><option value=r>Red<option selected>Blue</select>"
        "<textarea name=m>\nHi</textarea>"
        "<button name=go value=yes>Buy <b>now</b></button><button name=other>Other</button></form>"
    )
    controls = document["controls"]
    names = [control["name"] for control in controls]
    state = first_state(document)
    state[key(names.index("name"))] = "Ann & Bö"
    check(document, state, names.index("ok"))
    fast = next(n for n, c in enumerate(controls) if c["value"] == "fast")
    check(document, state, fast)
    wanted = submission(document, state, names.index("go"))
    assert wanted is not None
    assert (wanted.url, wanted.method) == ("http://10.0.2.2:8000/order", "POST")
    assert parse_qsl(wanted.body) == [
        ("t", "1"), ("name", "Ann & Bö"), ("ok", "on"), ("s", "fast"), ("c", "Blue"), ("m", "Hi"),
        ("go", "yes"),
    ]  # fmt: skip
    labels = [block["label"] for block in document["blocks"] if block.get("label")]
    assert labels == ["I agree", "Slow", "Fast", "Buy now", "Other"]
    assert controls[names.index("name")]["desc"] == "Name"


def test_enter_in_a_field_presses_the_forms_first_button() -> None:
    document = page(
        "<form><input name=q><button name=go value=1>Go</button><button name=no></form>"
    )
    wanted = submission(document, {"w0": "x"}, 0)
    assert wanted is not None
    assert wanted.url == f"{BASE}?q=x&go=1"


def test_a_get_form_replaces_the_query_and_a_lone_control_sends_nothing() -> None:
    document = page("<form action='/s?old=1'><input name=q></form><input name=z>")
    wanted = submission(document, {"w0": "a b"}, 0)
    assert wanted is not None
    assert (wanted.url, wanted.method) == ("http://10.0.2.2:8000/s?q=a+b", "GET")
    assert submission(document, {}, 1) is None


@pytest.mark.parametrize(
    ("html", "moves"),
    [
        ("<marquee>x</marquee>", True),
        ("<style>@keyframes a{} .b{animation: a 1s infinite}</style>x", True),
        ("<p style='animation: spin 2s linear infinite'>x", True),
        ("<style>.b{animation: a 1s}</style>x", False),
        ("<p>animation: infinite</p>", False),
    ],
)
def test_a_page_that_never_rests_is_known(html: str, moves: bool) -> None:
    assert page(html)["animating"] is moves


HOSTILE = {
    "deep": "<div>" * 100_000 + "bottom" + "</div>" * 100_000,
    "deep lists": "<ul><li>" * 100_000 + "x",
    "open tags": "<a b " * 200_000,
    "open quotes": "<a x='" * 300_000,
    "open comment": "<!--" * 200_000,
    "end tags": "</p>" * 200_000,
    "stray ends": ("<b>" * 250) + "</i>" * 200_000,
    "attributes": "<p " + "a=1 " * 200_000 + ">x",
    "one word": "x" * 2_000_000,
    "controls": "<input>" * 100_000,
    "options": "<select>" + "<option>x" * 100_000,
    "cells": "<table><tr>" + "<td>x" * 300_000,
    "links": "<a href=x>y</a>" * 120_000,
    "styles": "<style>" + "a{b" * 600_000,
    "entities": "&amp" * 200_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markup_gives_a_small_document(name: str) -> None:
    """In time linear in its length: quadratic parsing of these would take minutes."""
    document = page(HOSTILE[name])
    area(document)
    assert len(document["blocks"]) <= MOST_BLOCKS
    assert len(document["controls"]) <= MOST_CONTROLS
    assert len(json.dumps(document)) < 20 * MOST_LETTERS


TAGS = (
    "a b p div ul ol li table tr td th form input select option button label textarea h1 pre "
    "script style title img br hr marquee blockquote dl dt dd span body noscript"
)
PIECES = st.one_of(
    st.sampled_from([f"<{tag}>" for tag in TAGS.split()]),
    st.sampled_from([f"</{tag}>" for tag in TAGS.split()]),
    st.sampled_from([
        "<input type=checkbox>", "<input type=radio name=a>", "<a href='/x y#z'>",
        "<a href=http://[>", "<img alt=x width=9999 height=1>", "<p style=display:none>",
        "<label for=q>", "<input id=q>", "<form action='http://[' method=post>",
        "<ol start=99999999999>", "<td hidden>", "<!--", "-->", "<style>*{display:none}</style>",
        "<option selected value=''>", "&#xD800;", "&#0;", "\x00",
    ]),
    st.text(max_size=20),
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_markup_breaks_the_reading_or_the_laying_out(html: str) -> None:
    document = page(html)
    assert json.loads(json.dumps(document)) == document
    state = first_state(document)
    for number in range(len(document["controls"])):
        submission(document, state, number)
    tall = heights(document)
    assert all(height >= 0 for height in tall)
    screen = Screen("x", fields=state, focus=key(0))
    for node in area(document, screen).walk():
        assert Rect(0, 200, WIDTH, 2200).clip(node.bounds) == node.bounds or not node.kind


@given(st.text(alphabet="ab;&x ", max_size=100), st.text(alphabet="<>/!-=\"' abx", max_size=100))
def test_words_before_the_first_tag_are_kept_whatever_follows(words: str, markup: str) -> None:
    found = list(tokens(f"{words}<{markup}"))
    first = found[0].text if words else ""
    assert first == unescape(words)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.text(alphabet="abc ,", min_size=1, max_size=60), st.booleans()),
                min_size=1, max_size=12))  # fmt: skip
def test_no_two_links_of_a_paragraph_overlap(parts: list[tuple[str, bool]]) -> None:
    html = "".join(f"<a href=/{n}>{t}</a>" if link else t for n, (t, link) in enumerate(parts))
    tapped = [n.bounds for n in area(page(f"<p>{html}</p>")).walk() if n.tap]
    for number, one in enumerate(tapped):
        for other in tapped[number + 1 :]:
            shared = one.clip(other)
            assert shared.width == 0 or shared.height == 0


def test_only_what_is_in_view_is_in_the_tree_and_scrolling_brings_the_rest() -> None:
    document = page("".join(f"<p>line {n}</p>" for n in range(300)))
    shown = {node.text for node in area(document).walk()}
    assert "line 0" in shown
    assert "line 299" not in shown
    far = area(document, Screen("x", scroll={"page": 10**9}))
    assert "line 299" in {node.text for node in far.walk()}
    assert far.offset == far.reach
