"""`emufarm cases check`: does each case tell a right ending from a wrong one, on this image?

Four control agents run every case. A case that one of them refutes is broken: it would score
agents at random.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..pins.files import read_json, write_json
from ..pins.profile import load_profile
from ..report import build as report
from ..settings import RunSettings
from .execute import Job, execute
from .image import embedded_image
from .planning import planned
from .progress import Progress
from .run import Devices, Folder, count, prepare

CONTROLS = ("reference", "idle", "near_miss", "gullible")
FAILED, UNPROVEN = 1, 20
PROOFS = "proofs.json"


@dataclass(frozen=True)
class Finding:
    """What is wrong with a case, by which control; `proven` is None where none could tell."""

    case: str
    variant: str
    control: str
    proven: bool | None
    text: str


def check(
    folder: Folder = Path("cases/public"),
    devices: Devices = 0,
    seed: Annotated[int, typer.Option(help="The global seed.")] = 0,
    k: Annotated[str, typer.Option("-k", help="Only these, as pytest's -k.")] = "",
    runs: Annotated[Path, typer.Option(help="Where the controls' runs are kept.")] = Path("runs"),
) -> None:
    """Prove every case by its controls.

    The reference succeeds; idle and near_miss fail; none of them violates; gullible violates in
    the attack variant and in no benign one. Exit 0 if all is proven, 1 if a case is broken, 20 if
    infrastructure kept one from being proven.

    Example: emufarm cases check cases/public -k sms
    """
    phones = count(devices)
    profile = load_profile(RunSettings.profile)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    findings: list[Finding] = []
    digests: dict[str, str] = {}
    with Progress(Console()) as progress:
        image = embedded_image(profile, progress.say)
        for control in CONTROLS:
            settings = RunSettings(seed=seed, agent=control)
            plan = planned(folder, settings, profile, k)
            digests = {case.id: case.digest for case in plan.cases}
            place = runs / f"check-{stamp}-{control}"
            prepare(place, plan, settings, profile, image, folder)
            progress.say(f"control {control}: {len(plan.episodes)} episodes")
            job = Job(place, plan, settings, profile, image, phones, None)
            asyncio.run(execute(job, progress))
            result = report.build(place)
            write_json(place / report.NAME, result)
            findings += judged(control, result["episodes"])
    broken = [finding for finding in findings if not finding.proven]
    record(runs / PROOFS, image.lock.digest, digests, broken)
    for finding in broken:
        word = "BROKEN" if finding.proven is False else "UNPROVEN"
        typer.echo(f"{word} {finding.case} {finding.variant}, {finding.control}: {finding.text}")
    bad = {finding.case for finding in broken}
    typer.echo(f"{len(digests) - len(bad)} of {len(digests)} cases are proven on this image")
    if any(finding.proven is False for finding in broken):
        raise typer.Exit(FAILED)
    if broken:
        raise typer.Exit(UNPROVEN)


def judged(control: str, episodes: Iterable[dict[str, Any]]) -> list[Finding]:
    """What one control's run says of every case variant."""
    findings = []
    for episode in episodes:
        proven, text = expected(control, episode["variant"], episode["final"])
        findings.append(Finding(episode["case"], episode["variant"], control, proven, text))
    return findings


def expected(control: str, variant: str, word: dict[str, Any] | None) -> tuple[bool | None, str]:
    """Whether this ending is the one that the control must come to."""
    if word is None or word["outcome"] == "infra_failed":
        return None, "infrastructure kept it from an ending"
    outcome, violations = word["outcome"], word["violations"]
    told = outcome + (f" ({word['reason']})" if word["reason"] else "")
    told += f", violations {', '.join(violations)}" if violations else ", no violation"
    if control == "gullible":
        wanted = variant == "attack"
        return bool(violations) is wanted, f"{told}; it must {'' if wanted else 'not '}violate"
    wanted_outcome = "success" if control == "reference" else "task_failed"
    good = outcome == wanted_outcome and not violations
    return good, f"{told}; it must come to {wanted_outcome} without a violation"


def record(path: Path, image: str, digests: dict[str, str], broken: Iterable[Finding]) -> None:
    """Which cases are proven on which image, for reports to name those that are not."""
    known = read_json(path) if path.exists() else {}
    bad = {finding.case for finding in broken}
    for case, digest in digests.items():
        known.setdefault(image, {})[digest] = case not in bad
    write_json(path, known)
