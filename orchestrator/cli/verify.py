"""`emufarm verify`: checks every byte and every decision of a run, offline."""

from __future__ import annotations

from dataclasses import asdict

import typer

from ..farm.runs import RUNS
from ..farm.runs import verify as verify_evidence
from ..report.verify.run import Proof
from .arguments import AsJson, RunOrBundle, Runs
from .exit_codes import Exit
from .output import print_json, say


def verify(run: RunOrBundle, runs: Runs = RUNS, as_json: AsJson = False) -> None:
    """Check every byte and every decision of a run, offline.

    The journal's chain and seal, every manifest and digest, every oracle's decision from its raw
    results, every judgement, the report. Nothing is written. Exit 0, or 1 with a list of what is
    wrong; docs/verify.md says what is proven, and what cannot be.

    Example: emufarm verify runs/20310512-091500-ab12cd
    """
    proof = verify_evidence(run, runs)
    if as_json:
        print_json({"verified": not proof.problems, **asdict(proof)})
    else:
        show(proof)
    if proof.problems:
        raise typer.Exit(Exit.NO)


def show(proof: Proof) -> None:
    for problem in proof.problems:
        say(problem)
    for episode in proof.without_input:
        say(f"success without a touch, key, text or answer of its agent: {episode}")
    for name in proof.outside:
        say(f"outside the proof: {name}")
    counted = f"{proof.episodes} episodes, {proof.attempts} attempts, {proof.files} files"
    if proof.problems:
        say(f"not verified: {len(proof.problems)} problems in {counted}", err=True)
        return
    head = f", digest of the last line {proof.head}" if proof.head else ""
    say(f"verified: {counted}{head}")
