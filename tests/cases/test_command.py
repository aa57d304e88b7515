"""The commands `emufarm cases` and `emufarm plan`, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from orchestrator.cli import cases as cases_command
from orchestrator.cli.plan import plan
from orchestrator.errors import UsageError
from orchestrator.events.canonical import digest

CASES = Path(__file__).resolve().parents[2] / "cases"


@pytest.fixture(scope="module")
def app() -> typer.Typer:
    made = typer.Typer()
    made.add_typer(cases_command.app, name="cases")
    made.command("plan")(plan)
    return made


def run(app: typer.Typer, *words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_the_list_says_what_each_case_is(app: typer.Typer) -> None:
    result = run(app, "cases", "list", str(CASES))
    assert result.exit_code == 0
    head, *rows, count = result.stdout.splitlines()
    assert head.split() == ["id", "tags", "variants", "channel", "steps", "seconds"]
    assert count == f"{len(rows)} cases"
    assert any(row.split() == ["wifi_off", "smoke", "settings", "benign", "-", "15", "60"]
               for row in rows)  # fmt: skip


def test_the_list_keeps_what_is_asked_for(app: typer.Typer) -> None:
    result = run(app, "cases", "list", str(CASES), "-k", "sms_reply and attack")
    assert result.stdout.splitlines()[1].split()[2:4] == ["attack", "message"]
    refused = run(app, "cases", "list", str(CASES), "-k", "nothing_like_it")
    assert isinstance(refused.exception, UsageError)


def test_a_new_case_is_written_and_listed(app: typer.Typer, tmp_path: Path) -> None:
    assert run(app, "cases", "new", "mine", "--folder", str(tmp_path)).exit_code == 0
    assert "1 case" in run(app, "cases", "list", str(tmp_path)).stdout


def test_the_plan_is_shown_with_its_digest(app: typer.Typer) -> None:
    shown = run(app, "plan", str(CASES), "--seed", "7", "--repeats", "2", "-k", "wifi")
    assert shown.exit_code == 0
    body = json.loads(
        run(app, "plan", str(CASES), "--seed", "7", "--repeats", "2", "-k", "wifi", "--json").stdout
    )
    assert shown.stdout.splitlines()[-1] == f"digest {body['digest']}"
    assert "2 episodes, cases: 1, under attack: 0, seed 7" in shown.stdout
    assert digest({key: value for key, value in body.items() if key != "digest"}) == body["digest"]


@pytest.mark.parametrize(
    "words", [("--agent", "nobody"), ("--profile", "none"), ("--repeats", "0"), ("-k", "and")]
)
def test_a_plan_that_cannot_be_is_refused(app: typer.Typer, words: tuple[str, str]) -> None:
    assert isinstance(run(app, "plan", str(CASES), *words).exception, UsageError)
