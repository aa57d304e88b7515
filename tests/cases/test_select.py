"""`-k` keeps what pytest's would: and, or, not, parentheses, parts of names."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cases.load import load_cases
from orchestrator.cases.select import compile_expression, no_match, selection
from orchestrator.errors import UsageError
from tests.cases.conftest import Write

WORDS = st.sampled_from(["a", "b", "ab", "attack", "Files", "wifi_off", "x.y", "9"])
# An expression as a tree: a word, or ("not", e), or ("and" | "or", e, f).
Tree = str | tuple[str, "Tree"] | tuple[str, "Tree", "Tree"]
TREES: st.SearchStrategy[Tree] = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    ),
    max_leaves=12,
)


def spelled(tree: Tree) -> str:
    if isinstance(tree, str):
        return tree
    if len(tree) == 2:
        return f"not ({spelled(tree[1])})"
    return f"({spelled(tree[1])}) {tree[0]}  ({spelled(tree[2])})"


def meant(tree: Tree, names: list[str]) -> bool:
    if isinstance(tree, str):
        return any(tree.lower() in name.lower() for name in names)
    if len(tree) == 2:
        return not meant(tree[1], names)
    left, right = meant(tree[1], names), meant(tree[2], names)
    return left and right if tree[0] == "and" else left or right


@given(TREES, st.lists(WORDS))
def test_an_expression_means_what_its_tree_means(tree: Tree, names: list[str]) -> None:
    assert compile_expression(spelled(tree))(names) == meant(tree, names)


@given(st.lists(st.sampled_from(["a", "b", "not", "and", "or", "(", ")"]), max_size=12),
       st.lists(WORDS))  # fmt: skip
def test_any_words_are_an_expression_where_python_says_so(
    words: list[str], names: list[str]
) -> None:
    """Python's own and, or, not bind the same way, so it is the judge."""
    text = " ".join(words)
    values = {word: any(word in name.lower() for name in names) for word in ("a", "b")}
    # A call such as `a (b)` is Python and no expression; `()` likewise.
    call = any(left in ("a", "b", ")") and right == "(" for left, right in pairwise(words))
    try:
        expected = eval(text, {}, values) if text else True  # noqa: S307 -- of these words only
    except (SyntaxError, TypeError):
        expected = None
    if expected is None or call or "( )" in text:
        if text:
            with pytest.raises(UsageError):
                compile_expression(text)
    else:
        assert compile_expression(text)(names) == bool(expected)


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_expression_keeps_everything(text: str) -> None:
    assert compile_expression(text)([])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a and", "the end where a word"),
        ("a b", "'b' at column 3 where and, or, or the end"),
        ("(a", "the end where a closing parenthesis"),
        ("a)", "')' at column 2"),
        ("a & b", "'&' at column 3"),
        ("not", "the end where a word"),
        ("(" * 60 + "a" + ")" * 60, "nests more than 50 deep"),
        ("not " * 60 + "a", "nests more than 50 deep"),
        ("a" * 3000, "at most 2000 characters"),
    ],
)
def test_what_is_no_expression_says_where(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        compile_expression(text)
    assert said in str(caught.value)


def test_a_case_is_found_by_id_tag_and_variant(write: Write) -> None:
    (loaded,) = load_cases(write())
    case = loaded.case

    def kept(text: str) -> list[str]:
        keep = selection(text)
        return [variant for variant in case.variants if keep(case, variant)]

    assert kept("TID") == kept("files") == ["benign", "attack"]
    assert kept("attack") == kept("tidy and not benign") == kept("tidy.att") == ["attack"]
    assert kept("other") == []


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("tydy", "did you mean 'tidy'?"),
        ("files and atack", "did you mean 'attack'?"),
        ("tidy.atack", "did you mean 'tidy.attack'?"),
        ("not tidy", "ask for less, or see `emufarm cases list`"),
        ("files and zebra", "no id or tag contains 'zebra': see `emufarm cases list`"),
    ],
)
def test_an_expression_that_matches_nothing_suggests_the_nearest_names(
    write: Write, text: str, hint: str
) -> None:
    cases = [loaded.case for loaded in load_cases(write())]
    assert str(no_match(text, cases)) == f"-k {text!r} matches nothing; {hint}"
