"""`emufarm verify`: checks every byte and every decision of a run, offline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from ..coordinator.chain import FOLDER as JOURNAL
from ..errors import UsageError
from ..evidence import attempt, manifest
from ..farm.runs import RUNS, find_run
from ..plan.store import FILE as PLAN
from ..report.verify.run import Proof, verify_bundle, verify_run
from .arguments import AsJson, RunOrBundle, Runs
from .exit_codes import Exit
from .output import print_json


def verify(run: RunOrBundle, runs: Runs = RUNS, as_json: AsJson = False) -> None:
    """Check every byte and every decision of a run, offline.

    The journal's chain and seal, every manifest and digest, every oracle's decision from its raw
    results, every judgement, the report. Nothing is written. Exit 0, or 1 with a list of what is
    wrong; docs/verify.md says what is proven, and what cannot be.

    Example: emufarm verify runs/20310512-091500-ab12cd
    """
    proof = proven(find_run(run, runs))
    if as_json:
        print_json({"verified": not proof.problems, **asdict(proof)})
    else:
        show(proof)
    if proof.problems:
        raise typer.Exit(Exit.NO)


def proven(place: Path) -> Proof:
    if (place / JOURNAL).is_dir() or (place / PLAN).is_file():
        return verify_run(place)
    if (place / manifest.NAME).is_file() or (place / attempt.NAME).is_file():
        return verify_bundle(place)
    raise UsageError(f"{place} is no run and no bundle: neither a journal nor a manifest is there")


def show(proof: Proof) -> None:
    for problem in proof.problems:
        typer.echo(problem)
    for name in proof.outside:
        typer.echo(f"outside the proof: {name}")
    counted = f"{proof.episodes} episodes, {proof.attempts} attempts, {proof.files} files"
    if proof.problems:
        typer.echo(f"not verified: {len(proof.problems)} problems in {counted}", err=True)
        return
    head = f", digest of the last line {proof.head}" if proof.head else ""
    typer.echo(f"verified: {counted}{head}")
