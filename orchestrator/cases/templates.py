"""Checks and renders the `{{ ... }}` templates of case files.

Only values, sums, joins and a few filters are allowed, so that rendering always ends, and quickly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from urllib.parse import quote_plus

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.sandbox import SandboxedEnvironment

from ..errors import did_you_mean

Value = str | int
MARKS = ("{{", "}}", "{%", "{#")
MAX_TEMPLATE = 200_000
_ALLOWED = (
    nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Filter,
    nodes.Add, nodes.Sub, nodes.Concat,
)  # fmt: skip


class BadTemplate(ValueError):
    """A template that cannot be rendered; the text says what to write instead."""


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
def environment() -> SandboxedEnvironment:
    jinja = SandboxedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    jinja.filters = dict(FILTERS)
    return jinja


def is_template(text: str) -> bool:
    return any(mark in text for mark in MARKS)


def inspect(text: str) -> frozenset[str]:
    """The names that a template uses. Raises BadTemplate where it is wrong or not allowed."""
    if len(text) > MAX_TEMPLATE:
        raise BadTemplate(f"the template has more than {MAX_TEMPLATE} characters; make it shorter")
    try:
        found = list(environment().parse(text).find_all(nodes.Node))
    except TemplateSyntaxError as error:
        raise BadTemplate(f"{error.message}; write {{{{ name }}}}") from error
    except RecursionError as error:
        raise BadTemplate("nested too deep; write {{ name }}") from error
    for node in found:
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            raise BadTemplate(f"{node.name!r} is not a filter; {_hint(node.name, FILTERS)}")
        if not isinstance(node, _ALLOWED):
            kind = type(node).__name__.lower()
            raise BadTemplate(f"a template may not contain a {kind}; write {{{{ name }}}}")
    return frozenset(node.name for node in found if isinstance(node, nodes.Name))


def undefined(names: frozenset[str], known: Mapping[str, object]) -> str:
    """A sentence about the first undefined name; empty where all are known."""
    for name in sorted(names - known.keys()):
        return f"{name!r} is not a param; {_hint(name, known)}"
    return ""


def render_text(text: str, values: Mapping[str, Value]) -> str:
    if not is_template(text):
        return text
    template = _compiled(text)
    try:
        return template.render(values)
    except (TemplateError, TypeError, ValueError) as error:
        raise BadTemplate(f"{text[:80]!r} cannot be rendered: {error}") from error


@lru_cache(maxsize=4096)
def _compiled(text: str) -> Template:
    inspect(text)
    return environment().from_string(text)


def _hint(name: str, known: Mapping[str, object]) -> str:
    names = f"choose one of {', '.join(sorted(known))}" if known else "define it under params"
    return did_you_mean(name, known, names)
