"""`emufarm audit`: is a run's evidence what it must be?"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from ..evidence.audit import audit as audit_run

FOUND = 1


def audit(
    run: Annotated[
        Path, typer.Argument(help="A run's folder, or a bundle's; a copy will do.", metavar="RUN")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Hold every bundle of a run against the rules of evidence.

    Offline. Exit 0 where nothing is wrong, 1 with a line for each finding where something is. The
    rules are in docs/evidence.md.

    Example: emufarm audit runs/20310512-091500-ab12cd
    """
    if not run.is_dir():
        raise UsageError(f"{run} is no folder: name a run's, as `emufarm run` printed it")
    audited = audit_run(run)
    if not audited.bundles:
        raise UsageError(f"there is no bundle in {run}: name a run's folder")
    if as_json:
        sys.stdout.write(json.dumps(asdict(audited), indent=2) + "\n")
    else:
        for finding in audited.findings:
            typer.echo(str(finding))
        told = _counted(len(audited.findings), "finding") if audited.findings else "no finding"
        bundles = _counted(audited.bundles, "bundle")
        typer.echo(f"{bundles}, {_counted(audited.events, 'event')}, {told}")
    if audited.findings:
        raise typer.Exit(FOUND)


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
