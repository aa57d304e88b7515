"""The command line: flags, printing and exit codes; the farm room does the work.

Each module holds one command or one group. Errors become one sentence and an exit code here only.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .. import __version__
from ..errors import EmufarmError, UsageError
from ..farm.interruption import RunInterrupted
from . import (
    audit,
    cases,
    clean,
    compare,
    coordinator,
    device,
    device_image,
    doctor,
    export,
    image,
    plan,
    report,
    reproduce,
    run,
    schema,
    sim,
    verify,
    worker,
)
from .exit_codes import Exit

app = typer.Typer(
    name="emufarm",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("resume")(run.resume)
app.command("plan")(plan.plan)
app.command("report")(report.report)
app.command("audit")(audit.audit)
app.command("verify")(verify.verify)
app.command("reproduce")(reproduce.reproduce)
app.command("compare")(compare.compare)
app.command("export")(export.export)
app.command("schema")(schema.schema)
app.command("doctor")(doctor.doctor)
app.command("clean")(clean.clean)
app.command("coordinator")(coordinator.coordinator)
app.command("worker")(worker.worker)
app.add_typer(cases.app, name="cases")
device.app.command("bake")(device_image.bake)
device.app.command("prove")(device_image.prove)
app.add_typer(device.app, name="device")
app.add_typer(image.app, name="image")
app.add_typer(sim.app, name="sim", short_help="Boot a simulated phone, and keep it until Ctrl-C.")


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"emufarm {__version__}")
        raise typer.Exit


@app.callback()
def emufarm(
    version: Annotated[
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """A farm of Android emulators that scores agents and keeps the evidence.

    Example: emufarm run cases/public --agent reference --devices 4
    """


def main() -> None:
    try:
        app()
    except UsageError as error:
        print(f"emufarm: {error}", file=sys.stderr)
        sys.exit(Exit.USAGE)
    except RunInterrupted as error:
        print(f"emufarm: {error}", file=sys.stderr)
        sys.exit(Exit.INTERRUPTED)
    except (EmufarmError, OSError) as error:  # an OSError names its file: a disk, a folder
        print(f"emufarm: {error}", file=sys.stderr)
        sys.exit(Exit.INFRASTRUCTURE)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
