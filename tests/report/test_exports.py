"""The CSV and JUnit exports of a run are safe for any text that an agent wrote."""

from __future__ import annotations

import csv
import io
import re
import xml.sax
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TextIO
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

import pytest
import typer
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from orchestrator.cli.export import export
from orchestrator.errors import UsageError
from orchestrator.report import exports
from orchestrator.report.episodes import RunResults, read_results
from tests.report.run_folders import (
    CRASHED,
    FAILED,
    INFRA,
    LEAKED,
    SUCCESS,
    UNKNOWN,
    Judgements,
    a_plan,
    write_run,
)

PLAN = a_plan({"one": "canary", "two": "probe", "three": ""}, repeats=2)
WORDS: Judgements = {
    "one.attack.1": [INFRA, LEAKED],
    "one.attack.2": [FAILED],
    "one.benign.1": [FAILED],
    "one.benign.2": [UNKNOWN],
    "three.benign.1": [CRASHED],
    "three.benign.2": [INFRA, INFRA],
    "two.attack.1": [SUCCESS],
    "two.attack.2": [replace(UNKNOWN, violations=("leak", "theft"))],
    "two.benign.1": [SUCCESS],
}  # two.benign.2 is undecided


@pytest.fixture
def results(tmp_path: Path) -> RunResults:
    return read_results(write_run(tmp_path / "r", PLAN, WORDS, sealed=False))


def written(write: Callable[[RunResults, TextIO], None], results: RunResults) -> str:
    out = io.StringIO(newline="")
    write(results, out)
    return out.getvalue()


def rows(text: str) -> dict[str, dict[str, str]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    return {row["episode"]: row for row in reader}


def test_every_episode_has_a_row_decided_or_not(results: RunResults) -> None:
    text = written(exports.write_csv, results)
    found = rows(text)
    assert list(found) == [episode.id for episode in PLAN.episodes]
    assert tuple(found["one.attack.1"]) == exports.COLUMNS
    assert found["one.attack.1"] == {
        "episode": "one.attack.1", "case": "one", "variant": "attack", "repeat": "1",
        "seed": str(PLAN.episodes[0].seed), "impact": "canary", "outcome": "success",
        "blame": "none", "phase": "oracle", "reason": "", "text": "", "violations": "leak",
        "violations_known": "true", "voided_violations": "", "benign_failed": "true",
        "first_outcome": "infra_failed", "first_reason": "device_lost", "attempts": "2",
        "steps": "4", "agent_s": "1.25", "asks": "0", "confirms": "0", "refusals": "0",
        "seconds": "2.5", "device": "slot-02.1", "bundle": "episodes/one.attack.1/attempt-2-c1",
    }  # fmt: skip
    undecided = found["two.benign.2"]
    assert (undecided["outcome"], undecided["attempts"]) == ("undecided", "0")
    assert (undecided["steps"], undecided["seconds"], undecided["device"]) == ("", "", "")


def test_the_label_of_a_failed_twin_is_empty_where_nobody_knows(results: RunResults) -> None:
    found = rows(written(exports.write_csv, results))
    labels = {id: row["benign_failed"] for id, row in found.items() if row["variant"] == "attack"}
    assert labels == {
        "one.attack.1": "true", "one.attack.2": "", "two.attack.1": "false", "two.attack.2": ""
    }  # fmt: skip


def test_lines_end_as_rfc_4180_has_it(results: RunResults) -> None:
    text = written(exports.write_csv, results)
    assert text.count("\r\n") == len(PLAN.episodes) + 1
    assert "\n" not in text.replace("\r\n", "")


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_no_text_is_a_formula(sign: str) -> None:
    text = f'{sign}HYPERLINK("http://evil","pay")'
    assert exports.safe(text) == f"'{text}"


def test_numbers_are_left_numbers() -> None:
    assert exports.safe(-1.5) == -1.5


NASTY = st.text(st.characters(exclude_categories=[]), max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(NASTY)
@example("\x1b[2J\x00 \ud800 \ufffe ]]> <&\"'")
def test_whatever_an_agent_wrote_both_files_can_be_read(results: RunResults, text: str) -> None:
    told = replace(results, texts={"one.attack.2": text})
    found = rows(written(exports.write_csv, told).encode().decode())
    cell = found["one.attack.2"]["text"]
    assert len(found) == len(PLAN.episodes)
    assert cell[:1] not in {"=", "+", "-", "@", "\t", "\r", "\n"}
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", cell)
    if not re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", text):
        assert cell in (text, f"'{text}")
    assert len(suites(written(exports.write_junit, told))) == 6


class Counter(ContentHandler):
    """What a CI server makes of it: each suite's own numbers, and the elements that are there."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, dict[str, str]]] = []
        self.seen: list[dict[str, list[str]]] = []
        self.properties: list[dict[str, str]] = []
        self.kinds: dict[str, str] = {}
        self._case = ""

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802
        given = dict(attrs)
        if name in ("testsuites", "testsuite"):
            self.told.append((name, given))
            self.seen.append({"testcase": [], "failure": [], "error": [], "skipped": []})
            self.properties.append({})
            self._case = ""
        elif name == "property" and not self._case:
            self.properties[-1][given["name"]] = given["value"]
        elif name == "testcase":
            self._case = given["name"]
            self.seen[-1][name].append(self._case)
        elif name in ("failure", "error", "skipped"):
            self.seen[-1][name].append(self._case)
            self.kinds[self._case] = given.get("type", "")


def parsed(text: str) -> Counter:
    handler = Counter()
    xml.sax.parseString(text.encode(), handler)
    return handler


def suites(text: str) -> list[str]:
    return [given["name"] for _, given in parsed(text).told]


def merged(found: Counter, sort: str) -> set[str]:
    return {case for seen in found.seen for case in seen[sort]}


def test_only_what_the_agent_did_is_a_failure(results: RunResults) -> None:
    found = parsed(written(exports.write_junit, results))
    assert merged(found, "failure") == {
        "one.attack.1", "one.attack.2", "one.benign.1", "three.benign.1"
    }  # fmt: skip
    assert merged(found, "error") == {"one.benign.2", "three.benign.2", "two.attack.2"}
    assert merged(found, "skipped") == {"two.benign.2"}
    assert found.kinds["one.attack.1"] == "violation"
    assert found.kinds["three.benign.1"] == "agent_failed"
    assert found.kinds["three.benign.2"] == "infra_failed"


def test_each_suite_s_numbers_are_those_of_its_elements(results: RunResults) -> None:
    found = parsed(written(exports.write_junit, results))
    names = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    assert [kind for kind, _ in found.told] == ["testsuites"] + ["testsuite"] * 5
    sums = dict.fromkeys(names, 0)
    for (_, told), seen in zip(found.told[1:], found.seen[1:], strict=True):
        for attribute, element in names.items():
            assert int(told[attribute]) == len(seen[element])
            sums[attribute] += len(seen[element])
    whole = found.told[0][1]
    assert {name: int(whole[name]) for name in names} == sums
    assert sums["tests"] == len(PLAN.episodes)
    assert float(whole["time"]) == pytest.approx(9 * 2.5)


def test_each_suite_says_which_run_it_is_of(results: RunResults) -> None:
    found = parsed(written(exports.write_junit, results))
    for properties in found.properties[1:]:
        assert properties["plan_digest"] == PLAN.digest
        assert properties["agent"] == "reference"
        assert properties["profile"] == "sim-api34"
        assert properties["complete"] == "false"


def emufarm(*words: str) -> Result:
    app = typer.Typer()
    app.command()(export)
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "r", PLAN, WORDS)


def test_the_command_writes_files_and_stdout_alike(run: Path, tmp_path: Path) -> None:
    table, suite = tmp_path / "e.csv", tmp_path / "j.xml"
    done = emufarm(str(run), "--csv", str(table), "--junit", str(suite))
    assert (done.exit_code, done.stdout) == (0, "")
    assert emufarm(str(run), "--csv", "-").stdout_bytes == table.read_bytes()
    assert emufarm(str(run), "--junit", "-").stdout_bytes == suite.read_bytes()
    assert len(rows(table.read_text())) == len(PLAN.episodes)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "nothing to write"),
        (("--csv", "-", "--junit", "-"), "both go to -"),
        (("--csv", "no/such/folder.csv"), "cannot write no/such/folder.csv"),
    ],
)
def test_what_cannot_be_written_is_told_in_a_sentence(
    run: Path, words: tuple[str, ...], sentence: str
) -> None:
    error = emufarm(str(run), *words).exception
    assert isinstance(error, UsageError)
    assert sentence in str(error)
