"""`emufarm audit`: checks the evidence of a run or bundle against every rule."""

from __future__ import annotations

from dataclasses import asdict

import typer

from ..errors import UsageError
from ..evidence.audit.runs import audit as audit_run
from ..farm.runs import RUNS, find_run
from .arguments import AsJson, RunOrBundle, Runs
from .exit_codes import Exit
from .output import print_json, say


def audit(run: RunOrBundle, runs: Runs = RUNS, as_json: AsJson = False) -> None:
    """Check every bundle of a run against the rules of evidence.

    Works offline. Exit 0 if nothing is wrong, 1 with a line for each finding otherwise. The
    rules are in docs/evidence.md.

    Example: emufarm audit runs/20310512-091500-ab12cd
    """
    folder = find_run(run, runs)
    audited = audit_run(folder)
    if not audited.bundles:
        raise UsageError(f"there is no bundle in {folder}: name a run's folder")
    if as_json:
        print_json(asdict(audited))
    else:
        for finding in audited.findings:
            say(str(finding))
        findings = _counted(len(audited.findings), "finding") if audited.findings else "no finding"
        bundles = _counted(audited.bundles, "bundle")
        say(f"{bundles}, {_counted(audited.events, 'event')}, {findings}")
    if audited.findings:
        raise typer.Exit(Exit.NO)


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
