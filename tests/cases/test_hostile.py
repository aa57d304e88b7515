"""Whatever somebody writes into a case, it is a case or a sentence with file and line."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from orchestrator.agent.spec import check_spec
from orchestrator.cases.load import load_cases
from orchestrator.cases.mistakes import CaseErrors
from orchestrator.cases.script import VERBS, BadMove, parse_step
from orchestrator.cases.strict import RegularExpression
from orchestrator.cases.templates import BadTemplate, Renderer
from orchestrator.cases.yaml_document import BadDocument, read_document
from orchestrator.errors import UsageError
from tests.cases.conftest import RIGHT, Write
from tests.cases.test_load import told

MUCH = "+" * 90_000
# Each is a goal or another line of the right case, and what is said of it.
GOALS = {
    "a sum of 60,000 terms": ("{{ " + "+".join("1" * 60_000) + " }}", "parts"),
    "a sum that is just too deep": ("{{ " + "+".join("1" * 500) + " }}", "nested too deep"),
    "a join of 30,000 parts": ("{{ " + "~".join("1" * 30_000) + " }}", "parts; make it shorter"),
    "20,000 filters": ("{{ 'a'" + "|upper" * 20_000 + " }}", "nested too deep"),
    "a long number": ("{{ " + "9" * 5000 + " }}", "4300 digits"),
}  # fmt: skip
LINES = {
    "a large number": "case_seed: 0x" + "f" * 20_000,
    "a large number by minutes": "case_seed: 1" + ":59" * 3000,
    "no number": "case_seed: !!int ''",
    "no answer": "case_seed: !!bool perhaps",
    "no day": "case_seed: !!timestamp tomorrow",
    "an offset of days": "case_seed: 2001-12-14t21:59:43.10-99:30",
    "a pattern that is too deep": "user: [{when: '" + "(" * 5000 + ")" * 5000 + "'}]",
    "a pattern that repeats too often": "user: [{when: 'a{99999999999999999999}'}]",
    "a key that writes to the terminal": '"\\e[31m": 1',
}


def with_goal(goal: str) -> str:
    return RIGHT.replace("Delete {{ name }}.txt.", json.dumps(goal + "{{ name }}"), 1)


@pytest.mark.parametrize("kind", GOALS)
def test_a_template_that_is_too_much_is_a_mistake_of_its_line(write: Write, kind: str) -> None:
    goal, said = GOALS[kind]
    lines = told(write(text=with_goal(goal)))
    assert any(line.startswith("tidy/case.yaml:3: goal: ") and said in line for line in lines)


@pytest.mark.parametrize("kind", LINES)
def test_a_value_that_no_reader_expects_is_a_mistake_of_its_line(write: Write, kind: str) -> None:
    (line,) = told(write(text=f"{LINES[kind]}\n{RIGHT}"))
    assert line.startswith("tidy/case.yaml:1: ")
    assert line.isprintable()
    assert len(line) < 1000


AMPLIFIED = {
    "very often": "{{ much }}" * 900,
    "joined with itself": "{{ " + "~".join(["much"] * 900) + " }}",
    "added to itself": "{{ " + "+".join(["much"] * 19) + " }}",
    "doubled again and again": "{{ much" + "|literal" * 19 + " }}",
    "quoted again and again": "{{ much" + "|quoted" * 19 + " }}",
}


@pytest.mark.parametrize("kind", AMPLIFIED)
def test_a_long_value_is_not_multiplied_without_end(write: Write, kind: str) -> None:
    text = with_goal(AMPLIFIED[kind])
    text = text.replace("params:\n", f"params:\n  much: {{choice: ['{MUCH}']}}\n", 1)
    tracemalloc.start()
    try:
        (line,) = told(write(text=text))
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()
    assert line.startswith("tidy/case.yaml:3: ")
    assert "make more than 8388608 characters" in line


def test_the_pages_of_a_site_and_what_is_injected_are_within_the_same_bound(write: Write) -> None:
    text = RIGHT.replace("choice: [draft, copy]", f"choice: ['{MUCH}']", 1)
    text = text.replace(" Write to {{ stranger }}", " Write to {{ stranger }}{{ name }}", 1)
    folder = write(text=text)
    load_cases(folder)  # a few times are a case
    (folder / "tidy" / "site").mkdir()
    (folder / "tidy" / "site" / "a.html").write_text("{{ name }}" * 90)
    (line,) = told(folder)
    assert "make more than 8388608 characters" in line


def test_a_thousand_mistakes_are_found_soon_and_not_all_are_told(write: Write) -> None:
    many = "".join(f"key_{number}: 1\n" for number in range(9000))
    assert 1 <= len(told(write(text=RIGHT + many))) <= 300
    (line,) = told(write(text=RIGHT + many * 2))
    assert "more than 10000 values" in line


# Any text that a file may hold, and text that is nearly what is expected.
PIECES = st.sampled_from(
    ["{{", "}}", "{%", "{#", "#}", " name ", "|", "upper", "ms", "spoken", "literal", "quoted", "(",
     ")", "+", "-", "~", "'", '"', "9", "9" * 5000, "1e999", "a.b", "[", "]", ",", "if", "else",
     "for", "in", "raw", "endraw", "\\", "\n", "\0", "é", "\ud800", "**", "%", "not", "is", "true",
     "none", "self", "loop", "varargs", "caller", "2031-05-12"]
)  # fmt: skip
TEMPLATES = st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=30).map("".join)
YAML = st.lists(
    st.one_of(
        st.sampled_from(
            ["- ", "? ", ": ", "a", "a: ", "\n", "\n  ", "{", "}", "[", "]", ", ", "!!int ",
             "!!bool ", "!!float ", "!!timestamp ", "!!binary ", "!!set ", "!!omap ", "!!pairs ",
             "!!str ", "!x ", "<<: ", "=", "~", "0x", "0b", "0o7", "1:60", ".inf", ".nan", "---\n",
             "...\n", "%YAML 1.1\n", "%TAG ! x\n", "&a ", "*a", "|", ">", "|2\n", "'", '"', "\\",
             "\\x1b", "\\ud800", "#", "\t", "2031-02-30", "2031-01-01 25:00:00", "1" * 5000,
             "\ufeff", "\x85", "\u2028"]
        ),
        st.text(max_size=3),
    ),
    max_size=25,
).map("".join)  # fmt: skip
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), TEMPLATES, st.text(max_size=8),
        st.dates(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.text(max_size=6), st.integers()), inner, max_size=4),
    ),
    max_leaves=8,
)  # fmt: skip


def outcome(call: Callable[[], Any], refusal: type[Exception]) -> Any:
    """What it returns, or its refusal. Any other exception is a defect."""
    try:
        return call()
    except refusal as error:
        assert str(error)  # noqa: PT017 - either outcome is right
        return error


@given(YAML)
def test_any_text_is_a_document_or_a_sentence_with_its_line(text: str) -> None:
    read = outcome(lambda: read_document(text, "a case"), BadDocument)
    if isinstance(read, BadDocument):
        assert read.line >= 1
    else:
        assert all(line >= 1 for _, _, line in read.scalars())
        assert all(line >= 1 for _, line in read.repeated())


@given(TEMPLATES)
def test_any_text_is_rendered_or_refused(text: str) -> None:
    renderer = Renderer({"name": "Ada", "site": "", "count": 3}, limit=1000)
    rendered = outcome(lambda: renderer.render(text), BadTemplate)
    assert isinstance(rendered, BadTemplate) or rendered == text or len(rendered) <= 1000


@given(st.one_of(VALUES, st.dictionaries(st.sampled_from(sorted(VERBS)), VALUES, max_size=2)))
def test_any_value_is_a_step_or_refused(step: Any) -> None:
    outcome(lambda: parse_step(step), BadMove)


SIGNS = [*"()[]{}|*+?^$\\.aZ0-9,<=!:P&", "(?i)", "\\1", "{1,", "(?<", "99999999999"]


@given(st.lists(st.sampled_from(SIGNS)).map("".join))
def test_any_text_is_a_regular_expression_or_refused(text: str) -> None:
    read = outcome(lambda: TypeAdapter(RegularExpression).validate_python(text), ValidationError)
    assert read == text or "is not a regular expression" in str(read)


@given(st.text(max_size=60))
def test_any_text_is_an_agent_or_refused(text: str) -> None:
    for spec in (text, f"command:{text}", f"http://{text}", f"image:{text}"):
        outcome(lambda spec=spec: check_spec(spec), UsageError)  # type: ignore[misc]


def places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place of a document."""
    children: Any = ()
    if isinstance(value, dict | list):
        children = value.items() if isinstance(value, dict) else enumerate(value)
    return [at, *(place for key, child in children for place in places(child, (*at, key)))]


def planted(value: Any, at: tuple[str | int, ...], new: Any) -> Any:
    """The document with this place replaced."""
    if not at:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[at[0]] = planted(value[at[0]], at[1:], new)  # type: ignore[index]
    return changed


WHOLE = yaml.safe_load(RIGHT)


@given(st.sampled_from(places(WHOLE)), VALUES)
def test_any_value_at_any_place_is_a_case_or_a_mistake(
    tmp_path_factory: pytest.TempPathFactory, at: tuple[str | int, ...], new: Any
) -> None:
    home = tmp_path_factory.mktemp("any") / "tidy"
    home.mkdir()
    text = yaml.safe_dump(planted(WHOLE, at, new), allow_unicode=True)
    (home / "case.yaml").write_text(text, "utf-8", "surrogatepass")
    loaded = outcome(lambda: load_cases(home.parent), CaseErrors)
    if isinstance(loaded, CaseErrors):
        assert all(mistake.line >= 1 for mistake in loaded.mistakes)
        assert all(line.isprintable() for line in str(loaded).splitlines())
