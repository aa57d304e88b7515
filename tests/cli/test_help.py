"""A stranger finds every command by its --help, said whole, with an example."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from typer import Typer
from typer.testing import CliRunner

from orchestrator.cli import app


def commands(group: Typer, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of every command that is no group."""
    for command in group.registered_commands:
        if command.name is not None:
            yield (*words, command.name)
    for below in group.registered_groups:
        assert below.typer_instance is not None
        yield from commands(below.typer_instance, *words, str(below.name))


def helped(*words: str) -> str:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, [*words, "--help"])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("words", [(), *commands(app)])
def test_every_command_shows_an_example(words: tuple[str, ...]) -> None:
    assert "Example: emufarm" in helped(*words)


@pytest.mark.parametrize("words", [(), ("cases",)])
def test_no_command_is_described_by_half_a_sentence(words: tuple[str, ...]) -> None:
    """A first sentence that is too long for its line is cut."""
    described = helped(*words).partition("Commands:")[2]
    assert described
    assert "..." not in described
