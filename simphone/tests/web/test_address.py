"""Which address a typed line or a link means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simphone.web.address import BadAddress, join, parse, same_page, typed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("10.0.2.2:8000/shop?x=1", "http://10.0.2.2:8000/shop?x=1"),
        ("localhost:9000", "http://localhost:9000"),
        ("example.com", "http://example.com"),
        ("https://example.com/a", "https://example.com/a"),
        ("about:blank", "about:blank"),
        ("weather in Oslo", "https://www.google.com/search?q=weather+in+Oslo"),
        ("paddles", "https://www.google.com/search?q=paddles"),
    ],
)
def test_a_line_with_a_host_is_an_address_and_anything_else_a_search(
    line: str, expected: str
) -> None:
    assert typed(line) == expected


def test_an_address_becomes_host_port_and_an_encoded_target() -> None:
    address = parse("HTTP://Example.com/ä b?q=ö&c=%20#top")
    assert (address.host, address.port, address.authority) == ("example.com", 80, "example.com")
    assert address.target == "/%C3%A4%20b?q=%C3%B6&c=%20"
    assert parse("http://10.0.2.2:81").authority == "10.0.2.2:81"


@pytest.mark.parametrize(
    "url",
    ["", "ftp://a/", "http://", "http://a:99999/", "http://a:0/", "http://[::1", "http://a b/",
     "javascript:alert(1)", "http://" + "a" * 9000],
)  # fmt: skip
def test_what_is_no_http_address_is_refused(url: str) -> None:
    with pytest.raises(BadAddress):
        parse(url)


def test_user_names_in_an_address_are_not_sent_to_the_host_they_pretend_to_be() -> None:
    address = parse("http://bank.example@10.0.2.2:80/x")
    assert address.host == "10.0.2.2"
    assert "bank" not in address.url


def test_a_fragment_alone_is_the_same_page() -> None:
    assert same_page("http://a/x#one", "http://a/x#two")
    assert not same_page("http://a/x", "http://a/y")


@given(st.text(), st.text())
def test_no_text_does_worse_than_a_bad_address(base: str, reference: str) -> None:
    for text in (base, typed(base)):
        try:
            parse(join(text, reference))
        except BadAddress:
            continue
