"""What docs/contract.md names exists in a run that the farm made."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from orchestrator.cli import commands
from tests.evidence import conftest as evidence

ROOT = Path(__file__).parents[1]
SECTIONS = {"1.1", "1.2", "1.3", "1.4", "2.1", "2.2", "3", "4", "5", "6"}
COLUMNS = ("§", "requirement", "where it is", "shown or checked by", "proven by")

recorded = evidence.recorded  # a run of one episode, with a line of every kind


@dataclass(frozen=True)
class Row:
    section: str
    asked: str
    places: tuple[tuple[str, tuple[str, ...]], ...]  # file, its keys
    commands: tuple[str, ...]
    tests: tuple[str, ...]


def rows(text: str) -> list[Row]:
    """Of the only table of five columns."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    assert cells[0] == COLUMNS
    return [
        Row(section, asked, tuple(places(where)), told(shown), told(proven))
        for section, asked, where, shown, proven in cells[2:]
    ]


def told(cell: str) -> tuple[str, ...]:
    return tuple(re.findall(r"`([^`]+)`", cell))


def places(cell: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """`file` and the keys after it, up to the next file."""
    file, keys = "", list[str]()
    for word in told(cell):
        if word.endswith((".json", ".jsonl", ".txt")) or word == "Makefile":
            if file:
                yield file, tuple(keys)
            file, keys = word, []
        else:
            keys.append(word)
    assert file, cell
    yield file, tuple(keys)


TABLE = rows((ROOT / "docs" / "contract.md").read_text())


def test_every_section_of_the_contract_has_rows_and_every_row_says_all() -> None:
    assert {row.section for row in TABLE} == SECTIONS
    assert len({row.asked for row in TABLE}) == len(TABLE) >= 40
    for row in TABLE:
        assert row.places, row
        assert row.commands, row
        assert row.tests, row


@pytest.mark.parametrize("name", sorted({name for row in TABLE for name in row.tests}))
def test_a_test_that_a_row_names_is_there(name: str) -> None:
    file, _, function = name.partition("::")
    tree = ast.parse((ROOT / file).read_text())
    found = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert function in found


@pytest.mark.parametrize("command", sorted({each for row in TABLE for each in row.commands}))
def test_a_command_that_a_row_names_is_there(command: str) -> None:
    program, *words = command.split()
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return
    assert program == "emufarm"
    found: Any = typer.main.get_command(commands())
    for word in words:
        found = found.commands[word]


def contents(run: Path, file: str) -> list[Any]:
    """What a row's file holds: one document, or the lines of a trace; none of a plain file."""
    (bundle,) = run.glob("episodes/*/attempt-1-c1")
    path = next(folder / file for folder in (run, bundle, ROOT) if (folder / file).exists())
    text = path.read_text()
    if file.endswith(".jsonl"):
        lines = [json.loads(line) for line in text.splitlines()]
        assert lines, file
        return [{line["event"]: line} if "event" in line else line for line in lines]
    return [json.loads(text)] if file.endswith(".json") else []


def found(value: Any, key: str) -> list[Any]:
    """Everything that a key leads to."""
    values = [value]
    for part in key.split("."):
        name = part.removesuffix("[]")
        if name == "*":
            values = [each for value in values for each in value.values()]
        else:
            values = [value[name] for value in values if isinstance(value, dict) and name in value]
        if part.endswith("[]"):
            values = [each for value in values for each in value]
    return values


def test_a_key_that_a_row_names_is_in_a_run_and_says_something(recorded: Path) -> None:
    """A value, or why there is none."""
    missing = [
        f"§ {row.section} {row.asked}: {file} {key}"
        for row in TABLE
        for file, keys in row.places
        for documents in [contents(recorded, file)]
        for key in keys
        if all(value in (None, "") for each in documents for value in found(each, key))
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("a", [1]),
        ("a.b", []),
        ("list[].x", [2, 3]),
        ("any.*.y", [4, 5]),
        ("gone", []),
    ],
)
def test_a_key_leads_to_what_it_names(key: str, value: list[int]) -> None:
    """The table is only as good as this."""
    document = {"a": 1, "list": [{"x": 2}, {"x": 3}], "any": {"p": {"y": 4}, "q": {"y": 5}}}
    assert found(document, key) == value
