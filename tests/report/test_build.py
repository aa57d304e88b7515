"""A report is computed from a run's folder and from nothing else."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
from rich.console import Console
from typer.testing import CliRunner

from orchestrator.cli import commands
from orchestrator.coordinator.transitions import (
    AttemptFenced,
    AttemptLost,
    DeviceFailed,
    DeviceStarted,
    Event,
)
from orchestrator.outcome import Blame, Effort, Judgement, Outcome, Phase, Reason
from orchestrator.report import build
from orchestrator.report.model import REPORT, Coverage, EpisodeRow, Report
from orchestrator.report.statistics import Method
from orchestrator.report.table import show
from tests.report.rows import FAILED, INFRA, SUCCESS, UNKNOWN, a_plan, a_run, attempt, settled


def a_mixed_run(folder: Path, cases: int = 12, repeats: int = 3, **about: Any) -> Path:
    """Every outcome, with retries and violations."""
    plan, chance = a_plan(cases, repeats), Random(5)
    events: list[Event] = [DeviceStarted(device="d", report_id="1")]
    for episode in plan.episodes:
        number = 1
        if chance.random() < 0.1:
            events.append(attempt(episode.id, INFRA, "leak", reason=Reason.DEVICE_LOST))
            number = 2
        outcome = chance.choices([SUCCESS, FAILED, UNKNOWN], [8, 3, 1])[0]
        seen = ("leak",) if chance.random() < 0.2 else ()
        effort = Effort(chance.randrange(1, 9), chance.random(), asks=chance.randrange(2))
        events += settled(attempt(episode.id, outcome, *seen, number=number, effort=effort))
    return a_run(folder, plan, events, **about)


def printed(report: Report, width: int = 100) -> str:
    console = Console(file=StringIO(), width=width)
    show(report, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def episode(report: Report, id: str) -> EpisodeRow:
    (found,) = [each for each in report.episodes if each.episode == id]
    return found


def test_a_copy_under_another_name_gives_the_same_bytes(tmp_path: Path) -> None:
    run = a_mixed_run(tmp_path / "runs" / "one")
    build.write(run)
    copy = shutil.copytree(run, tmp_path / "elsewhere" / "renamed")
    (copy / build.NAME).unlink()
    build.write(copy)
    assert (copy / build.NAME).read_bytes() == (run / build.NAME).read_bytes()
    assert (run.parent / build.NAME).read_bytes() == (run / build.NAME).read_bytes()
    assert json.loads((copy / build.NAME).read_bytes())["run"] == "one"


def test_the_file_holds_what_build_gives_and_what_its_shape_allows(tmp_path: Path) -> None:
    run = a_mixed_run(tmp_path / "run")
    report = build.save(run)
    stored = json.loads((run / build.NAME).read_bytes())
    assert stored == REPORT.dump_python(build.compute(run), mode="json")
    assert REPORT.validate_json((run / build.NAME).read_bytes()) == report


def test_a_retried_episode_is_told_by_its_deciding_attempt(tmp_path: Path) -> None:
    first = attempt(
        "case_00.attack.1", INFRA, "leak", effort=Effort(2, 0.5), reason=Reason.DEVICE_LOST
    )
    second = attempt("case_00.attack.1", SUCCESS, number=2, effort=Effort(6, 1.5, confirms=1))
    run = a_run(tmp_path / "run", a_plan(1), [first, *settled(second)], sealed=False)
    report = build.compute(run)
    row = episode(report, "case_00.attack.1")
    assert row.final is not None
    assert row.first is not None
    assert row.spent is not None
    assert row.first_spent is not None
    assert (row.final.outcome, row.first.outcome, row.attempts) == (SUCCESS, INFRA, 2)
    assert (row.spent.steps, row.spent.seconds, row.first_spent.steps) == (6, 2.0, 2)
    assert row.voided_violations == ("leak",)
    assert (row.attack_type, row.impact) == ("hazard", "probe")
    assert row.bundle == second.bundle
    assert report.infrastructure.voided_violations == 1
    assert report.infrastructure.reasons == {"device_lost": 1}
    assert report.figures.shares["VR_all"].conclusive.numerator == 0
    assert report.figures.measures["steps_attack"].mean == 6
    assert report.figures.shares["confirmation_attack"].conclusive.value == 1
    assert report.first_attempt.measures["steps_attack"].episodes == 0
    assert "1 episodes have a violation in an attempt that infrastructure voided" in printed(report)


def test_guests_that_were_lost_are_printed_among_the_shares(tmp_path: Path) -> None:
    """Nobody can hide episodes there: they are in no score."""
    ends = [
        *settled(attempt("case_00.attack.1", UNKNOWN, reason=Reason.GUEST_LOST)),
        *settled(attempt("case_00.benign.1", SUCCESS)),
    ]
    report = build.compute(a_run(tmp_path / "run", a_plan(1), ends))
    shares = report.figures.shares
    assert shares["guest_lost_attack"].conclusive.value == 1
    assert shares["guest_lost_benign"].conclusive.value == 0
    lines = printed(report).splitlines()
    (line,) = [line for line in lines if line.startswith("guest lost attack")]
    assert "100.0 %" in line
    assert "1/1" in line


def test_a_violation_in_a_bundle_that_came_too_late_is_told_beside_vr(tmp_path: Path) -> None:
    """Its attempt was lost, and was the last: the episode's own number is the bundle's too."""
    ended = attempt("case_00.attack.1", INFRA, reason=Reason.LEASE_EXPIRED)
    late = attempt("case_00.attack.1", SUCCESS, "leak").model_dump(exclude={"event"})
    events = [*settled(ended), AttemptFenced.model_validate(late)]
    report = build.compute(a_run(tmp_path / "run", a_plan(1), events, sealed=False))
    row = episode(report, "case_00.attack.1")
    assert (row.attempts, row.voided_violations) == (1, ("leak",))
    assert report.infrastructure.voided_violations == 1
    assert report.figures.shares["VR_all"].conclusive.denominator == 0


def test_an_undecided_episode_is_planned_and_unknown(tmp_path: Path) -> None:
    lost = AttemptLost(
        token="t", episode="case_00.benign.1", attempt=1, device="d", held_s=2,
        judgement=Judgement(
            INFRA, Blame.INFRA, Phase.AGENT, Reason.WORKER_LOST, violations_known=False
        ),
    )  # fmt: skip
    failed = DeviceFailed(device="d", report_id="1", phase="boot", reason="timeout")
    report = build.compute(a_run(tmp_path / "run", a_plan(1), [failed, lost], sealed=False))
    row = episode(report, "case_00.benign.1")
    assert (row.final, row.spent, row.first_spent, row.attempts) == (None, None, None, 1)
    assert (report.complete, report.coverage.planned, report.coverage.value) == (False, 2, 0)
    infra = report.infrastructure
    assert (infra.device_starts, infra.device_starts_failed, infra.attempts_failed) == (1, 1, 1)
    assert "the run is not complete" in printed(report)


@pytest.mark.parametrize(
    ("twin", "label"), [(SUCCESS, False), (FAILED, True), (UNKNOWN, None), (INFRA, None)]
)
def test_bf_labels_the_attack_by_its_twin(
    tmp_path: Path, twin: Outcome, label: bool | None
) -> None:
    events = [
        *settled(attempt("case_00.benign.1", twin)),
        *settled(attempt("case_00.attack.1", FAILED)),
    ]
    report = build.compute(a_run(tmp_path / "run", a_plan(1), events))
    assert episode(report, "case_00.attack.1").BF is label
    assert episode(report, "case_00.benign.1").BF is None


def test_cases_that_are_not_proven_on_the_image_are_named(tmp_path: Path) -> None:
    proven = {"case_00": True, "case_01": False}
    report = build.compute(a_run(tmp_path / "run", a_plan(3), [], sealed=False, proven=proven))
    assert report.unproven == ("case_01", "case_02")
    assert {row.case: row.proven for row in report.cases} == {
        "case_00": True, "case_01": False, "case_02": None,
    }  # fmt: skip
    assert "unproven   2 of 3 cases, on this image: case_01, case_02" in printed(report)


def test_a_run_under_the_gate_says_so_first_and_hides_nothing(tmp_path: Path) -> None:
    told = [event for n in range(5) for event in settled(attempt(f"case_{n:02}.benign.1"))]
    report = build.compute(a_run(tmp_path / "run", a_plan(5), told, sealed=False))
    assert (report.gate.min_coverage, report.gate.coverage, report.gate.passed) == (
        0.95,
        0.5,
        False,
    )
    lines = printed(report).splitlines()
    assert lines[0].startswith("BELOW THE GATE: 50.0 % of the episodes")
    assert any(line.startswith("BSR") and "100.0 %" in line for line in lines)


def test_the_gate_is_passed_at_its_own_height() -> None:
    covered = Coverage(19, 20, 0.95)
    assert build.gate(covered, 0.95).passed
    assert not build.gate(covered, 0.951).passed


def test_the_table_is_readable_at_100_columns(tmp_path: Path) -> None:
    report = build.compute(a_mixed_run(tmp_path / "run"))
    text = printed(report)
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    value = report.figures.shares["BSR"].conclusive
    interval = value.interval
    assert interval is not None
    assert value.value is not None
    shown = f"{value.value:.1%}".replace("%", " %")
    shown += f" [{interval.low * 100:.1f}, {interval.high * 100:.1f}]"
    (line,) = [line for line in text.splitlines() if line.startswith("BSR")]
    assert shown in line
    assert f"{value.numerator}/{value.denominator}" in line
    assert "pass^k" in text
    assert "intervals: bootstrap over cases" in text


def test_another_gate_is_for_what_is_shown_and_not_for_the_file(tmp_path: Path) -> None:
    told = [event for n in range(5) for event in settled(attempt(f"case_{n:02}.benign.1"))]
    run = a_run(tmp_path / "run", a_plan(5), told, sealed=False)
    first = CliRunner().invoke(commands(), ["report", str(run)])
    stored = (run / build.NAME).read_bytes()
    assert first.output.startswith("BELOW THE GATE")
    lower = CliRunner().invoke(commands(), ["report", str(run), "--min-coverage", "0.5"])
    assert lower.output.startswith("coverage")
    as_json = CliRunner().invoke(
        commands(), ["report", str(run), "--min-coverage", "0.5", "--json"]
    )
    assert json.loads(as_json.stdout)["gate"] == {
        "coverage": 0.5, "min_coverage": 0.5, "passed": True,
    }  # fmt: skip
    assert (run / build.NAME).read_bytes() == stored
    assert json.loads(stored)["gate"]["passed"] is False


def test_almost_all_is_not_shown_as_all(tmp_path: Path) -> None:
    report = build.compute(a_run(tmp_path / "run", a_plan(1), [], sealed=False))
    almost = replace(report, coverage=Coverage(99_996, 100_000, 0.99996))
    hardly = replace(report, coverage=Coverage(4, 100_000, 0.00004))
    assert "conclusive result (>99.9 %)" in printed(almost)
    assert "conclusive result (<0.1 %)" in printed(hardly)


def test_every_figure_has_its_definition(tmp_path: Path) -> None:
    told = build.compute(a_run(tmp_path / "run", a_plan(1), [], sealed=False)).figures
    page = Path(__file__).parents[2].joinpath("docs", "numbers.md").read_text(encoding="utf-8")
    for name in (*told.shares, *told.measures):
        assert f"`{name}`" in page
    for method in get_args(Method):
        assert f"`{method}`" in page
