"""Arithmetic, patterns, splitting and file names, each by itself."""

from __future__ import annotations

import contextlib
import fnmatch
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simphone.shell.arithmetic import BadExpression, Evaluation, wrap
from simphone.shell.expand import split
from simphone.shell.pattern import matches, trim
from tests.guest import Guest

SMALL = st.integers(-1000, 1000)


def calculated(text: str, **variables: str) -> int:
    return Evaluation(text, lambda name: variables.get(name, ""), variables.__setitem__).value()


@given(SMALL, SMALL, SMALL, st.sampled_from("+-*"), st.sampled_from("+-*"))
def test_precedence_is_pythons(a: int, b: int, c: int, x: str, y: str) -> None:
    text = f"{a} {x} {b} {y} {c}"
    assert calculated(text) == wrap(eval(text))  # noqa: S307 - only digits and signs


@given(st.integers(), st.integers())
def test_sums_wrap_at_32_bits(a: int, b: int) -> None:
    assert -(2**31) <= calculated("a+b", a=str(wrap(a)), b=str(wrap(b))) < 2**31


@given(st.text(st.sampled_from("0123456789+-*/%()<>=!&|^~?:ab, $x#"), max_size=40))
@example("(" * 500)
@example("-" * 500 + "1")
@example("1" * 5000)
def test_any_expression_has_a_value_or_an_error(text: str) -> None:
    with contextlib.suppress(BadExpression):
        calculated(text, a="b", b="a", x="1+")


def test_a_branch_not_taken_has_no_effect() -> None:
    assert calculated("0 && (x=1/0)") == 0
    assert calculated("1 ? 2 : 1/0") == 2


@given(
    st.text(st.sampled_from("ab*?[]!-^"), max_size=8), st.text(st.sampled_from("ab-^*"), max_size=6)
)
def test_a_quoted_pattern_matches_only_itself(pattern: str, text: str) -> None:
    assert matches(text, [(pattern, True)]) == (text == pattern)
    matches(text, [(pattern, False)])  # whatever it says, it says it without an error


@given(st.text(st.sampled_from("ab*?"), max_size=8), st.text(st.sampled_from("abc"), max_size=6))
def test_stars_and_question_marks_match_as_fnmatch_does(pattern: str, text: str) -> None:
    assert matches(text, [(pattern, False)]) == fnmatch.fnmatchcase(text, pattern)


@given(st.text(st.sampled_from("ab/."), max_size=12))
def test_trimming_takes_the_shortest_or_the_longest(text: str) -> None:
    slash = [("*/", False)]
    assert trim(text, slash, "#") == (text.partition("/")[2] if "/" in text else text)
    assert trim(text, slash, "##") == text.rpartition("/")[2]
    rest = [("/*", False)]
    assert trim(text, rest, "%") == (text.rpartition("/")[0] if "/" in text else text)
    assert trim(text, rest, "%%") == text.partition("/")[0]


@given(st.text(st.sampled_from("ab \t\n"), max_size=20))
def test_default_splitting_is_words(text: str) -> None:
    assert split(text, " \t\n")[1] == text.split()


@pytest.mark.parametrize(
    ("text", "ifs", "fields"),
    [("a:b", ":", ["a", "b"]), ("a::b", ":", ["a", "", "b"]), (":a", ":", ["", "a"]),
     ("a:", ":", ["a"]), (" a : b ", ": ", ["a", "b"]), ("a b", "", ["a b"]),
     ("a b", ":", ["a b"])],
)  # fmt: skip
def test_other_separators_keep_empty_fields(text: str, ifs: str, fields: list[str]) -> None:
    assert split(text, ifs)[1] == fields


async def test_file_names_are_the_guests(tmp_path: Path) -> None:
    guest = Guest(tmp_path / "guest")
    answer = await guest.sh("echo /*bin /syste? /etc/*; ls -d /proc/*; echo /root/* /../../*sbin*")
    assert answer.out.startswith("/bin /system /etc/*\n")
    assert answer.out.endswith("/root/* /../../*sbin*\n")
