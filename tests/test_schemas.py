"""The schemas in docs/schema/ are those of the models, and every document matches its schema."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from orchestrator.cases.load import case_files
from orchestrator.cases.model import Case
from orchestrator.cli.schema import schema as command
from orchestrator.errors import UsageError
from orchestrator.evidence import manifest
from orchestrator.evidence.attempt import AttemptRecord
from orchestrator.plan.store import FILE
from orchestrator.report import build, schemas
from tests.report.run_folders import FAILED, INFRA, LEAKED, SUCCESS, a_plan, write_run

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "schema"
CASES = case_files(ROOT / "cases")
Break = Callable[[Any], object]


@cache
def validator(name: str) -> Draft202012Validator:
    """Of the committed file: that is what others have."""
    return Draft202012Validator(json.loads((FOLDER / schemas.file_name(name)).read_text()))


def refuses(name: str, document: Any, spoil: Break) -> bool:
    spoiled = copy.deepcopy(document)
    spoil(spoiled)
    return not validator(name).is_valid(spoiled)


@pytest.mark.parametrize("name", schemas.DOCUMENTS)
def test_the_committed_schema_is_the_model_s(name: str) -> None:
    committed = (FOLDER / schemas.file_name(name)).read_text()
    assert committed == schemas.text(name), "`make schemas` writes them again"


@pytest.mark.parametrize("name", schemas.DOCUMENTS)
def test_a_schema_is_one_and_needs_no_network(name: str) -> None:
    schema = schemas.schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == schemas.file_name(name)
    assert not re.findall(r"https?://", schemas.text(name).replace(schemas.DIALECT, ""))


def test_no_schema_lies_about_that_nobody_makes() -> None:
    made = {schemas.file_name(name).split(".")[0] for name in schemas.DOCUMENTS}
    assert {path.name.split(".")[0] for path in FOLDER.iterdir()} == made


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_every_case_keeps_to_its_schema(path: Path) -> None:
    validator("case").validate(yaml.safe_load(path.read_text()))


def _two_kinds(case: Any) -> None:
    case["success"][0] |= {
        "setting": {"namespace": "global", "name": "wifi_on", "equals": "0"},
        "package": {"name": "org.example"},
    }


@pytest.mark.parametrize(
    "spoil",
    [
        lambda case: case.pop("goal"),
        lambda case: case.update(golas="typo"),
        lambda case: case.update(id="Not A Name"),
        lambda case: case["budget"].update(steps=0),
        lambda case: case.update(success=[]),
        lambda case: case.update(success=[{"name": "nothing_asked"}]),
        lambda case: case.update(setup=[{"sms": {"sender": "not its alias", "text": "hi"}}]),
        lambda case: case.update(setup=[{}]),
        lambda case: case.update(params={"Not A Name": {"digits": 4}}),
        lambda case: case.update(params={"code": {"digits": 4, "letters": 4}}),
        lambda case: case.update(solution="tap"),
        _two_kinds,
    ],
)
def test_a_broken_case_does_not(spoil: Break) -> None:
    assert refuses("case", yaml.safe_load(CASES[0].read_text()), spoil)


@pytest.mark.parametrize("path", CASES[:3], ids=lambda path: path.parent.name)
def test_a_case_may_spell_out_its_defaults(path: Path) -> None:
    """As plan.json does, nulls and all."""
    case = Case.model_validate(yaml.safe_load(path.read_text()))
    validator("case").validate(case.model_dump(mode="json", by_alias=True))


PLAN = a_plan({"one": "canary", "two": ""}, repeats=2)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = {"one.attack.1": [INFRA, LEAKED], "one.benign.1": [SUCCESS], "two.benign.1": [FAILED]}
    return write_run(tmp_path_factory.mktemp("runs") / "r", PLAN, words, sealed=False)


def test_a_plan_keeps_to_its_schema(run: Path) -> None:
    plan = json.loads((run / FILE).read_text())
    validator("plan").validate(plan)
    assert refuses("plan", plan, lambda plan: plan.pop("digest"))
    assert refuses("plan", plan, lambda plan: plan.update(schema_version=99))
    assert refuses("plan", plan, lambda plan: plan.update(more="than a plan has"))
    assert refuses("plan", plan, lambda plan: plan["episodes"][0].update(seed="7"))
    assert refuses("plan", plan, lambda plan: plan["cases"][0].update(digest="short"))


def test_a_report_keeps_to_its_schema(run: Path) -> None:
    build.save(run)
    report = json.loads((run / build.NAME).read_text())
    validator("report").validate(report)
    assert refuses("report", report, lambda report: report.update(schema_version=1))
    assert refuses("report", report, lambda report: report.pop("coverage"))
    assert refuses("report", report, lambda report: report.update(more="than it says"))
    assert refuses("report", report, lambda report: report["episodes"][0].update(attempts="1"))
    assert refuses("report", report, lambda report: report["figures"]["shares"]["BSR"].pop("cases"))


def test_a_manifest_keeps_to_its_schema(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("evidence")
    manifest.seal(tmp_path)
    told = json.loads((tmp_path / manifest.NAME).read_text())
    validator("manifest").validate(told)
    assert refuses("manifest", told, lambda told: told["files"][0].update(sha256="0" * 63))
    assert refuses("manifest", told, lambda told: told["files"][0].update(size=-1))
    assert refuses("manifest", told, lambda told: told.update(schema_version=2))


def test_an_attempt_keeps_to_its_schema() -> None:
    record = AttemptRecord.model_validate(
        {
            "episode": "one.benign.1", "attempt": 1, "device": "slot-00.1", "started_ms": 1,
            "ended_ms": 2, "judgement": {
                "outcome": "success", "blame": "none", "phase": "oracle", "violations_known": True,
            },
        }
    )  # fmt: skip
    told = record.model_dump(mode="json")
    validator("attempt").validate(told)
    assert refuses("attempt", told, lambda told: told["judgement"].update(outcome="perhaps"))
    assert refuses("attempt", told, lambda told: told["judgement"].pop("violations_known"))
    assert refuses("attempt", told, lambda told: told.update(more="than it says"))


def test_the_command_prints_one_or_lists_them_or_says_which_there_are() -> None:
    app = typer.Typer()
    app.command()(command)
    said = CliRunner().invoke(app, ["case"])
    assert said.stdout == (FOLDER / "case.v1.json").read_text()
    assert "report.v4.json" in CliRunner().invoke(app, []).stdout
    wrong = CliRunner().invoke(app, ["cases"]).exception
    assert isinstance(wrong, UsageError)
    assert "choose one of attempt, case" in str(wrong)
