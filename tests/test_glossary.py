"""The words of CONTRIBUTING.md are sorted within their groups, and each is explained once."""

from __future__ import annotations

import re
from pathlib import Path

CONTRIBUTING = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"


def groups() -> list[list[str]]:
    """The first column of every table under *Words*."""
    words = CONTRIBUTING.read_text().partition("\n## Words\n")[2].partition("\n## ")[0]
    tables = re.split(r"^\|---\|---\|\n", words, flags=re.MULTILINE)[1:]
    return [re.findall(r"^\| (.+?) \|", table, re.MULTILINE) for table in tables]


def test_each_group_is_in_alphabetical_order() -> None:
    for words in groups():
        rows = words[:-1] if words[-1] in ("word", "not") else words
        assert rows == sorted(rows)


def test_no_word_is_explained_twice() -> None:
    words = [word for group in groups() for word in group if word not in ("word", "not")]
    assert len(words) > 60
    assert len(set(words)) == len(words)


def test_the_words_of_the_trade_that_are_special_here_are_defined() -> None:
    """`fence, fenced` defines both, and `life (of a device)` defines life."""
    rows = [row for group in groups() for row in group]
    words = {re.sub(r" \(.*\)", "", word) for row in rows for word in row.split(", ")}
    needed = {"slot", "pair", "staging", "fence", "claim", "room", "variant", "life", "void"}
    assert needed - words == set()
