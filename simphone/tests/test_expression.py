"""An expression from a stranger ends in time, on the loop's thread or another."""

from __future__ import annotations

import asyncio
import re

import pytest

from simphone import expression
from simphone.expression import LONGEST, BadSource, Expression, TooSlow

# The letter that each needs stands at the wrong end: the engine cannot see at once that it lacks.
HOSTILE = [
    ("(a|a)*[bc]$", "b" + "a" * 26),
    ("(a|aa)+$", "a" * 60 + "b"),
    ("a*[bc]$", "b" + "a" * 1_000_000),
    ("(a|a)" * 30 + "[bc]$", "b" + "a" * 40),
    (r"(a*)\1[bc]$", "b" + "a" * 30_000),
    ("([ab]*)*[cd]$", "c" + "ab" * 5000),
    (".*.*.*.*[xy]$", "x" + "a" * 5000),
    ("[ab]" * 5000 + "[cd]", "c" + "a" * 5_000_000),
]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expression, "PATIENCE_S", 0.05)


@pytest.mark.parametrize(("source", "text"), HOSTILE)
def test_a_match_without_end_is_given_up(source: str, text: str) -> None:
    hostile = Expression(source)
    for way in (hostile.search, hostile.found, lambda text: hostile.sub(lambda found: "", text)):
        with pytest.raises(TooSlow, match="takes too long"):
            way(text)


async def test_it_is_given_up_on_any_thread() -> None:
    hostile = Expression("(a|a)*[bc]$")
    with pytest.raises(TooSlow):
        await asyncio.to_thread(hostile.match, "a" * 40)


def test_a_match_that_eats_the_memory_is_given_up() -> None:
    expression.PATIENCE_S = 60.0
    with pytest.raises(TooSlow, match="too much memory"):
        Expression("(a|b)*").match("ab" * 20_000_000)


@pytest.mark.parametrize("source", ["(", "a{2,1}", "[", "(?P<a", "(" * 5000 + ")" * 5000])
def test_what_is_no_expression_is_refused(source: str) -> None:
    with pytest.raises(BadSource):
        Expression(source)


def test_a_source_that_would_take_long_to_compile_is_refused() -> None:
    with pytest.raises(BadSource, match="Regular expression too big"):
        Expression("a|" * LONGEST)


@pytest.mark.parametrize(
    ("source", "text"),
    [("b", "abc"), ("^a.c$", "abc"), ("(a|b)+", "xabab"), ("x*", "axxb"), (r"(.)\1", "abba")],
)
def test_it_finds_what_pythons_own_engine_finds(source: str, text: str) -> None:
    ours, theirs = Expression(source), re.compile(source)
    assert [found.span() for found in ours.found(text)] == [
        found.span() for found in theirs.finditer(text)
    ]
    assert ours.sub(lambda found: f"<{found.group()}>", text) == theirs.sub(r"<\g<0>>", text)
