"""Infrastructure's failures by the emulator's age, from which a profile's `loads` is set."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    DeviceStarted,
    Event,
    LeaseGranted,
)
from orchestrator.outcome import Blame, EmulatorAge, Judgement, Outcome, Phase, Reason
from orchestrator.report import build, table
from orchestrator.report.model import WearRow
from orchestrator.report.wear import WearCounts
from tests.report.rows import INFRA, SUCCESS, a_plan, a_run, attempt


def rows(*events: Event) -> WearCounts:
    counts = WearCounts()
    for event in events:
        counts.add(event)
    return counts


def aged(loads: int, seconds: float, outcome: Outcome = SUCCESS) -> AttemptCommitted:
    return attempt("e", outcome).model_copy(update={"age": EmulatorAge(loads, seconds)})


def granted(device: str) -> LeaseGranted:
    return LeaseGranted(
        token="t", episode="e", attempt=1, device=device, worker="w", request_id="r"
    )


def lost(device: str) -> AttemptLost:
    judgement = Judgement(
        Outcome.INFRA_FAILED, Blame.INFRA, Phase.AGENT, Reason.HOST_LOST, violations_known=False
    )
    return AttemptLost(
        token="t", episode="e", attempt=1, device=device, held_s=1, judgement=judgement
    )


def test_an_attempt_counts_in_the_row_of_its_age() -> None:
    counts = rows(
        aged(0, 10), aged(1, 299.9), aged(4, 300, INFRA), aged(39, 899, INFRA), aged(80, 1e9, INFRA)
    )
    assert counts.by_loads() == (
        WearRow(0, 1, 1, 0), WearRow(1, 5, 2, 1), WearRow(20, 40, 1, 1), WearRow(80, None, 1, 1),
    )  # fmt: skip
    assert counts.by_seconds() == (
        WearRow(0, 300, 2, 0), WearRow(300, 900, 2, 2), WearRow(14400, None, 1, 1),
    )  # fmt: skip


def test_an_attempt_without_a_bundle_counts_by_the_leases_since_its_device_started() -> None:
    """Of an emulator that crashed there is often nothing else."""
    started = DeviceStarted(device="a", report_id="r")
    leases = [granted("a")] * 7
    counts = rows(started, *leases, lost("a"), started, granted("a"), granted("b"), lost("a"))
    assert counts.by_loads() == (WearRow(0, 1, 1, 1), WearRow(5, 10, 1, 1))
    assert counts.by_seconds() == ()


def test_it_is_shown_where_infrastructure_failed_an_attempt(tmp_path: Path) -> None:
    plan = a_plan(1)
    failed = attempt(plan.episodes[0].id, INFRA, reason=Reason.DEVICE_LOST)
    worn = failed.model_copy(update={"age": EmulatorAge(12, 1000)})
    fine, broken = (
        shown(a_run(tmp_path / name, plan, [event], sealed=False))
        for name, event in (("fine", attempt(plan.episodes[0].id)), ("broken", worn))
    )
    assert "emulator's age" not in fine
    lines = [line.split() for line in broken.splitlines()]
    assert ["10", "to", "19", "loads", "1", "1", "100.0", "%"] in lines
    assert ["15", "to", "29", "minutes", "1", "1", "100.0", "%"] in lines


def shown(run: Path) -> str:
    console = Console(file=io.StringIO(), width=120)
    table.show(build.compute(run), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
