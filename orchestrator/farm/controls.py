"""Proves cases: runs every case with control agents and judges whether it scores them as it should.

Four control agents run every case, the reference twice, on phones with different noise. A case
that one of them refutes is broken: it would score agents at random.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from ..cases.model import Case
from ..folders import find_cases
from ..pins import proofs
from ..pins.profile import load_profile
from ..plan.plan import PlannedCase
from ..report.controls import ControlFinding, ControlRun, judged, verdicts, volatile
from ..report.endings import oracle_facts
from ..settings import RunSettings
from .backends import local_backend
from .job import Job
from .run_events import Notice, OnEvent, ignore, notifier
from .runner import PUBLIC_CASES, device_count, make_plan, start
from .runs import RUNS

CHECKS = "checks"  # a folder of their own, so that a control's run is never the latest run
_NOISES = 1_000_000  # a phone's noise has bounds, a seed has none


@dataclass(frozen=True)
class ControlPass:
    """One pass over all cases."""

    name: str  # of its run
    agent: str
    noise: int | None = None


@dataclass(frozen=True)
class CheckedCases:
    findings: tuple[ControlFinding, ...]
    proven: proofs.Proven  # case -> whether the controls prove it
    cases: tuple[str, ...]


def controls(seed: int) -> tuple[ControlPass, ...]:
    """The first two do the same on phones of different noise, which the seed decides."""
    noise = 2 * (seed % _NOISES)
    return (
        ControlPass("reference", "reference", noise),
        ControlPass("reference-twin", "reference", noise + 1),
        ControlPass("idle", "idle"),
        ControlPass("near_miss", "near_miss"),
        ControlPass("gullible", "gullible"),
    )


def check_cases(
    cases: str | Path = PUBLIC_CASES,
    *,
    devices: int = 0,
    seed: int = 0,
    k: str = "",
    runs: str | Path = RUNS,
    on_event: OnEvent = ignore,
) -> CheckedCases:
    """Run all control passes and record which cases are proven on the embedded image."""
    count, folder = device_count(devices), Path(runs)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    findings: list[ControlFinding] = []
    passes: list[ControlRun] = []
    planned: tuple[PlannedCase, ...] = ()  # the same for all controls
    found = find_cases(Path(cases))
    on_event(Notice(f"cases: {found}"))
    profile = load_profile(RunSettings.profile)
    backend = local_backend(profile, "reference", notifier(on_event))
    for control in controls(seed):
        settings = RunSettings(seed=seed, agent=control.agent, noise=control.noise)
        plan = make_plan(found, settings, k)
        planned = plan.cases
        on_event(Notice(f"control {control.name}: {len(plan.episodes)} episodes"))
        place = folder / CHECKS / f"{stamp}-{control.name}"
        job = Job(place, plan, settings, profile, backend, count)
        done = start(job, found, on_event)
        passes.append(ControlRun(done.report().episodes, oracle_facts(place)))
        findings += judged(control.agent, passes[-1].rows)
    findings += volatile("reference", *passes[:2])
    variants = {case.id: Case.model_validate(case.case).variants for case in planned}
    proven = verdicts(findings, variants)
    by_digest = {case.digest: proven[case.id] for case in planned if case.id in proven}
    proofs.record(folder / proofs.NAME, backend.lock.digest, by_digest)
    return CheckedCases(tuple(dict.fromkeys(findings)), proven, tuple(variants))
