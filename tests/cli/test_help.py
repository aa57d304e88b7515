"""Every command has a complete --help with an example."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner, Result

from orchestrator import __version__, cli

app = cli.commands()


def commands(group: Typer, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of every command that is no group."""
    for command in group.registered_commands:
        if command.name is not None:
            yield (*words, command.name)
    for below in group.registered_groups:
        assert below.typer_instance is not None
        yield from commands(below.typer_instance, *words, str(below.name))


def typed(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, words)


def helped(*words: str) -> str:
    result = typed(*words, "--help")
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


@pytest.mark.parametrize("words", [(), ("cases",), *commands(app)])
def test_every_command_takes_h_for_help(words: tuple[str, ...]) -> None:
    assert typed(*words, "-h").output == helped(*words)


def test_the_version_is_printed() -> None:
    assert typed("--version").output == f"emufarm {__version__}\n"


@pytest.mark.parametrize(
    ("words", "meant"),
    [(("rnu",), "run"), (("cases", "lst"), "list"), (("image", "bakee"), "bake")],
)
def test_a_mistyped_command_is_answered_with_the_nearest(
    words: tuple[str, ...], meant: str
) -> None:
    result = typed(*words)
    assert result.exit_code == 2
    assert f"No such command '{words[-1]}'. Did you mean '{meant}'?" in result.output


@pytest.mark.parametrize(
    ("line", "completed"), [("emufarm re", "report"), ("emufarm cases ch", "check")]
)
def test_a_shell_completes_commands(line: str, completed: str) -> None:
    """By the protocol of the script that `--install-completion` installs."""
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    environ = {**os.environ, "_EMUFARM_COMPLETE": "complete_bash", **asked}
    program = Path(sys.executable).with_name("emufarm")
    done = subprocess.run(
        [program], env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert completed in done.stdout.split()
