"""Selects cases and variants by `-k EXPR`: words with and, or, not and parentheses, as in pytest.

A word matches where it is part of the case's id, a tag, the variant, or `id.variant`; upper and
lower case are equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ..errors import UsageError, did_you_mean
from .model import Case

Matcher = Callable[[Iterable[str]], bool]  # names -> whether they are kept
Keep = Callable[[Case, str], bool]  # a case and one of its variants -> whether it is kept
MAX_LENGTH = 2000
MAX_DEPTH = 50
_OPERATORS = ("and", "or", "not")
_TOKEN = re.compile(r"\s*(?:(?P<mark>[()])|(?P<word>[\w:+\-.\[\]/]+)|(?P<wrong>\S))")


def selection(expression: str) -> Keep:
    """Keeps the variants that the expression matches."""
    matches = compile_expression(expression)
    return lambda case, variant: matches(_names_of(case, variant))


def _names_of(case: Case, variant: str) -> tuple[str, ...]:
    return (case.id, *case.tags, variant, f"{case.id}.{variant}")


def no_match(expression: str, cases: Iterable[Case]) -> UsageError:
    """The error for an expression that keeps nothing of these cases; suggests other words."""
    cases = list(cases)
    names = {name for case in cases for each in case.variants for name in _names_of(case, each)}
    # A part of an id is a name too, because a word may be one.
    parts = {part for case in cases for part in case.id.split("_")}
    hint = "ask for less, or see `emufarm cases list`"
    for word in _Parser(expression).words():
        if not any(word.lower() in name.lower() for name in names):
            known = names if "." in word else {name for name in names if "." not in name} | parts
            none = f"no id or tag contains {word!r}: see `emufarm cases list`"
            hint = did_you_mean(word, known, none)
            break
    return UsageError(f"-k {expression!r} matches nothing; {hint}")


def compile_expression(expression: str) -> Matcher:
    """Raises UsageError where it is not an expression. An empty one keeps everything."""
    if not expression.strip():
        return lambda names: True
    if len(expression) > MAX_LENGTH:
        raise UsageError(f"-k takes at most {MAX_LENGTH} characters; make the expression shorter")
    return _Parser(expression).parse()


class _Parser:
    """A recursive-descent parser. Precedence: or < and < not < word or parentheses."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = [
            (match.lastgroup, match[match.lastgroup], match.start(match.lastgroup) + 1)
            for match in _TOKEN.finditer(expression)
            if match.lastgroup
        ]
        self._tokens.append(("end", "", 0))
        self._next = 0
        self._depth = 0

    def words(self) -> list[str]:
        return [text for kind, text, _ in self._tokens if kind == "word" and text not in _OPERATORS]

    def parse(self) -> Matcher:
        matcher = self._or()
        if self._tokens[self._next][0] != "end":
            raise self._error("and, or, or the end")
        return matcher

    def _or(self) -> Matcher:
        matchers = [self._and()]
        while self._accept("or"):
            matchers.append(self._and())
        return lambda names: any(matcher(names) for matcher in matchers)

    def _and(self) -> Matcher:
        matchers = [self._not()]
        while self._accept("and"):
            matchers.append(self._not())
        return lambda names: all(matcher(names) for matcher in matchers)

    def _not(self) -> Matcher:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UsageError(f"-k nests more than {MAX_DEPTH} deep; write it flatter")
        try:
            if self._accept("not"):
                inner = self._not()
                return lambda names: not inner(names)
            if self._accept("("):
                inner = self._or()
                if not self._accept(")"):
                    raise self._error("a closing parenthesis")
                return inner
            return self._word()
        finally:
            self._depth -= 1

    def _word(self) -> Matcher:
        kind, text, _ = self._tokens[self._next]
        if kind != "word" or text in _OPERATORS:
            raise self._error("a word, not, or an opening parenthesis")
        self._next += 1
        return lambda names: any(text.lower() in name.lower() for name in names)

    def _accept(self, text: str) -> bool:
        found = self._tokens[self._next][1] == text
        self._next += found
        return found

    def _error(self, wanted: str) -> UsageError:
        kind, text, column = self._tokens[self._next]
        found = "the end" if kind == "end" else f"{text!r} at column {column}"
        return UsageError(f"-k {self._expression!r}: {found} where {wanted} is expected")
