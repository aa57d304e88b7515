"""The command line: the only place where rooms are wired together.

One module a command group; errors become one sentence and an exit code here and nowhere else.
"""

from __future__ import annotations

import sys

import typer

from ..errors import EmufarmError, UsageError
from ..farm.execute import Interrupted
from . import (
    audit,
    cases,
    clean,
    compare,
    controls,
    coordinator,
    device,
    device_image,
    doctor,
    export,
    images,
    plan,
    reporting,
    reproduce,
    run,
    schema,
    sim,
    verify,
    worker,
)

USAGE, FAILED, INTERRUPTED = 2, 20, 130

app = typer.Typer(
    name="emufarm",
    help="A farm of Android emulators that scores agents and keeps the evidence.\n\n"
    "Example: emufarm run cases/public --agent reference --devices 4",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("resume")(run.resume)
app.command("plan")(plan.plan)
app.command("report")(reporting.report)
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
cases.app.command("check")(controls.check)
app.add_typer(cases.app, name="cases")
device.app.command("bake")(device_image.bake)
device.app.command("prove")(device_image.prove)
app.add_typer(device.app, name="device")
app.add_typer(images.app, name="image")
app.add_typer(sim.app, name="sim", short_help="Boot a simulated phone, and keep it until Ctrl-C.")


def main() -> None:
    try:
        app()
    except UsageError as error:
        print(f"emufarm: {error}", file=sys.stderr)
        sys.exit(USAGE)
    except Interrupted as error:
        print(f"emufarm: {error}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except (EmufarmError, OSError) as error:  # an OSError names its file: a disk, a folder
        print(f"emufarm: {error}", file=sys.stderr)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
