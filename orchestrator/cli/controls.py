"""`emufarm cases check`: does each case tell a right ending from a wrong one, on this image?

Four control agents run every case, the reference twice, on phones that differ in all that phones
may differ in. A case that one of them refutes is broken: it would score agents at random.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..cases.model import Case
from ..farm.backends import Local
from ..farm.execute import execute
from ..farm.job import Job
from ..farm.planning import planned
from ..image.embedded import embedded_image
from ..pins import proofs
from ..pins.profile import load_profile
from ..plan.plan import PlannedCase
from ..report import build as report
from ..report.controls import Finding, Pass, judged, verdicts, volatile
from ..report.digests import results
from ..settings import RunSettings
from .progress import ProgressDisplay
from .run import Devices, Folder, count, prepare

FAILED, UNPROVEN = 1, 20
CHECKS = "checks"  # a folder of their own: the latest run is never a control's
_NOISES = 1_000_000  # a phone's noise has bounds, a seed has none


@dataclass(frozen=True)
class Control:
    name: str  # of its run
    agent: str
    noise: int | None = None


def controls(seed: int) -> tuple[Control, ...]:
    """The first two do the same on phones of different noise, which the seed decides."""
    noise = 2 * (seed % _NOISES)
    return (
        Control("reference", "reference", noise),
        Control("reference-twin", "reference", noise + 1),
        Control("idle", "idle"),
        Control("near_miss", "near_miss"),
        Control("gullible", "gullible"),
    )


def check(
    folder: Folder = Path("cases/public"),
    devices: Devices = 0,
    seed: Annotated[int, typer.Option(help="The global seed, and the phones' noise.")] = 0,
    k: Annotated[str, typer.Option("-k", help="Only these, as pytest's -k.")] = "",
    runs: Annotated[
        Path, typer.Option(help="Where runs are kept; the controls' in checks/.")
    ] = Path("runs"),
) -> None:
    """Prove every case by its controls, in five passes over its episodes.

    The reference succeeds; idle and near_miss fail; none of them violates; gullible violates in
    the attack variant and in no benign one. The reference runs twice, on phones with other row
    ids, clocks and delays: an oracle whose facts differ reads a volatile column, and its case is
    broken too. Exit 0 if all is proven, 1 if a case is broken, 20 if infrastructure kept one from
    being proven.

    Example: emufarm cases check cases/public -k sms
    """
    phones = count(devices)
    profile = load_profile(RunSettings.profile)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    findings: list[Finding] = []
    passes: list[Pass] = []
    cases: tuple[PlannedCase, ...] = ()  # the same for all controls
    with ProgressDisplay(Console()) as progress:
        backend = Local(embedded_image(profile, progress.notify))
        for control in controls(seed):
            settings = RunSettings(seed=seed, agent=control.agent, noise=control.noise)
            plan = planned(folder, settings, profile, k)
            cases = plan.cases
            place = runs / CHECKS / f"{stamp}-{control.name}"
            prepare(place, plan, settings, profile, backend, folder)
            progress.notify(f"control {control.name}: {len(plan.episodes)} episodes")
            job = Job(place, plan, settings, profile, backend, phones)
            passes.append(carried_out(job, progress))
            findings += judged(control.agent, passes[-1].rows)
    findings += volatile("reference", *passes[:2])
    variants = {case.id: Case.model_validate(case.case).variants for case in cases}
    known = verdicts(findings, variants)
    by_digest = {case.digest: known[case.id] for case in cases if case.id in known}
    proofs.record(runs / proofs.NAME, backend.lock.digest, by_digest)
    tell(findings, known, list(variants))


def tell(findings: Sequence[Finding], known: proofs.Proven, cases: Sequence[str]) -> None:
    """What is not as it must be, then the sum, then the exit code."""
    broken = list(dict.fromkeys(finding for finding in findings if not finding.proven))
    for finding in broken:
        typer.echo(str(finding))
    typer.echo(f"{sum(known.values())} of {len(cases)} cases are proven on this image")
    told = {*known, *(finding.case for finding in broken)}
    if part := [case for case in cases if case not in told]:
        typer.echo(
            f"-k leaves out a variant of {', '.join(part)}: that proves nothing of the whole"
        )
    if any(finding.proven is False for finding in broken):
        raise typer.Exit(FAILED)
    if broken:
        raise typer.Exit(UNPROVEN)


def carried_out(job: Job, progress: ProgressDisplay) -> Pass:
    """One control's pass over all episodes."""
    asyncio.run(execute(job, progress))
    return Pass(report.save(job.run).episodes, results(job.run))
