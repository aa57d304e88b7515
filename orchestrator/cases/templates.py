"""Checks and renders the `{{ ... }}` templates of case files.

Only values, sums, joins and a few filters are allowed. Jinja parses them, and what it parsed is
evaluated here, no deeper and to no more text than the limits say: rendering always ends, and soon.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from typing import Any
from urllib.parse import quote_plus

from jinja2 import Environment, TemplateSyntaxError, nodes

from ..errors import did_you_mean

Value = str | int
MARKS = ("{{", "}}", "{%", "{#")
MAX_TEMPLATE = 200_000
MAX_PARTS = 1000  # of one template: names, numbers, filters, and text between them
MAX_DEPTH = 20
MAX_RENDERED = 8 << 20  # characters that all templates of a case's variant make, on their way too
_ALLOWED = (
    nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Filter,
    nodes.Add, nodes.Sub, nodes.Concat,
)  # fmt: skip


class BadTemplate(ValueError):
    """A template that cannot be rendered; the text says what to write instead."""

    def __init__(self, text: str, template: str = "") -> None:
        super().__init__(text)
        self.template = template


def milliseconds(moment: object) -> int:
    """2031-05-12 09:00 (UTC) as milliseconds since 1970."""
    at = datetime.strptime(str(moment), "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    return round(at.timestamp() * 1000)


def spoken(day: object) -> str:
    """2031-05-12 as a person says it: 12 May 2031."""
    at = date.fromisoformat(str(day))
    return f"{at.day} {at:%B} {at.year}"


FILTERS: dict[str, Callable[..., Value]] = {
    "ms": milliseconds,
    "spoken": spoken,
    "upper": lambda value: str(value).upper(),
    "lower": lambda value: str(value).lower(),
    "capitalize": lambda value: str(value).capitalize(),
    "quoted": lambda value: quote_plus(str(value)),  # as part of a URL
    "literal": lambda value: re.escape(str(value)),  # as part of a regular expression
}


@cache
def environment() -> Environment:
    """It only parses."""
    jinja = Environment(keep_trailing_newline=True, autoescape=False)
    jinja.filters = dict(FILTERS)
    return jinja


def is_template(text: str) -> bool:
    return any(mark in text for mark in MARKS)


def inspect(text: str) -> frozenset[str]:
    """The names that a template uses. Raises BadTemplate where it is wrong or not allowed."""
    return _parsed(text)[1]


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[nodes.Template, frozenset[str]]:
    if len(text) > MAX_TEMPLATE:
        raise BadTemplate(f"the template has more than {MAX_TEMPLATE} characters; make it shorter")
    try:
        template = environment().parse(text)
    except TemplateSyntaxError as error:
        raise BadTemplate(f"{error.message}; write {{{{ name }}}}") from error
    except RecursionError as error:
        raise BadTemplate("nested too deep; write {{ name }}") from error
    except ValueError as error:  # a number of thousands of digits
        raise BadTemplate(f"{error}; write {{{{ name }}}}") from error
    names = set()
    waiting: list[tuple[nodes.Node, int]] = [(each, 0) for each in template.body]
    parts = 0
    while waiting:
        node, depth = waiting.pop()
        parts += 1
        if parts > MAX_PARTS:
            raise BadTemplate(f"the template has more than {MAX_PARTS} parts; make it shorter")
        if depth > MAX_DEPTH:
            raise BadTemplate(f"nested too deep, more than {MAX_DEPTH} parts; write {{{{ name }}}}")
        _require_allowed(node)
        if isinstance(node, nodes.Name):
            names.add(node.name)
        waiting += [(each, depth + 1) for each in node.iter_child_nodes()]
    return template, frozenset(names)


def _require_allowed(node: nodes.Node) -> None:
    if isinstance(node, nodes.Filter):
        if node.name not in FILTERS:
            raise BadTemplate(f"{_short(node.name)} is not a filter; {_hint(node.name, FILTERS)}")
        if node.args or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise BadTemplate(f"{node.name} takes no arguments; write {{{{ name | {node.name} }}}}")
    if not isinstance(node, _ALLOWED):
        kind = type(node).__name__.lower()
        raise BadTemplate(f"a template may not contain a {kind}; write {{{{ name }}}}")


def undefined(names: frozenset[str], known: Mapping[str, object]) -> str:
    """A sentence about the first undefined name; empty where all are known."""
    for name in sorted(names - known.keys()):
        return f"{_short(name)} is not a param; {_hint(name, known)}"
    return ""


class Renderer:
    """Renders templates with these values. Together they may make so many characters."""

    def __init__(self, values: Mapping[str, Value], limit: int = MAX_RENDERED) -> None:
        self.values = dict(values)
        self._limit = self._left = limit

    def render(self, text: str) -> str:
        if not is_template(text):
            return text
        template, _ = _parsed(text)
        try:
            return "".join(
                str(self._value(part))
                for output in template.body
                for part in output.iter_child_nodes()
            )
        except BadTemplate as error:
            raise BadTemplate(f"{text[:80]!r} cannot be rendered: {error}", text) from error
        except (TypeError, ValueError, ArithmeticError) as error:
            why = f"{text[:80]!r} cannot be rendered: {str(error)[:200]}"
            raise BadTemplate(why, text) from error

    def _value(self, node: nodes.Node) -> Any:
        match node:
            case nodes.TemplateData():
                value: Any = node.data
            case nodes.Const():
                value = node.value
            case nodes.Name():
                if node.name not in self.values:
                    raise BadTemplate(undefined(frozenset({node.name}), self.values))
                value = self.values[node.name]
            case nodes.Filter() if node.node is not None:
                value = FILTERS[node.name](self._value(node.node))
            case nodes.Add():
                value = self._value(node.left) + self._value(node.right)
            case nodes.Sub():
                value = self._value(node.left) - self._value(node.right)
            case nodes.Concat():
                value = "".join(str(self._value(each)) for each in node.nodes)
            case _:
                raise BadTemplate(f"a {type(node).__name__.lower()} has no value")
        self._left -= len(str(value))
        if self._left < 0:
            raise BadTemplate(
                f"the templates of this case make more than {self._limit} characters; "
                "use a long param less often"
            )
        return value


def _short(name: str) -> str:
    return repr(name if len(name) <= 60 else f"{name[:57]}...")


def _hint(name: str, known: Mapping[str, object]) -> str:
    names = f"choose one of {', '.join(sorted(known))}" if known else "define it under params"
    return did_you_mean(name[:60], known, names)
