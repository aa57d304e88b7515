"""The command line: flags, printing and exit codes; the farm room does the work.

Each module holds one command or one group. Errors become one sentence and an exit code here only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

from .. import __version__
from ..errors import EmufarmError, RunInterrupted, UsageError
from .exit_codes import Exit
from .output import notify

# Each command and the module that holds it: a function of its name, or an `app` with a group.
COMMANDS = {
    "run": "run",
    "resume": "run",
    "plan": "plan",
    "report": "report",
    "audit": "audit",
    "verify": "verify",
    "reproduce": "reproduce",
    "compare": "compare",
    "export": "export",
    "schema": "schema",
    "doctor": "doctor",
    "clean": "clean",
    "runs": "runs",
    "coordinator": "coordinator",
    "cluster-coordinator": "cluster_coordinator",
    "worker": "worker",
    "cases": "cases",
    "device": "device",
    "image": "image",
    "sim": "sim",
}

FOR_PODS = ("cluster-coordinator",)  # nobody types it


def commands(name: str = "") -> typer.Typer:
    """The command line with this one command, or with all where there is no such command.

    Only the modules of these commands are imported: a worker starts in half the time without the
    others.
    """
    app = typer.Typer(
        name="emufarm",
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(emufarm)
    for command in [name] if name in COMMANDS else COMMANDS:
        module = import_module(f".{COMMANDS[command]}", __name__)
        if hasattr(module, "app"):
            app.add_typer(module.app, name=command)
        else:
            function = getattr(module, command.replace("-", "_"))
            app.command(command, hidden=command in FOR_PODS)(function)
    return app


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"emufarm {__version__}")
        raise typer.Exit


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
    ended(commands(*sys.argv[1:2]))


def kubectl_plugin() -> None:
    """`kubectl emufarm list` is `emufarm runs list`."""
    ended(import_module(".runs", __name__).app)


def ended(app: Callable[[], object]) -> None:
    """Runs it to its end; errors become one sentence and an exit code."""
    try:
        app()
    except UsageError as error:
        notify(f"emufarm: {error}")
        sys.exit(Exit.USAGE)
    except RunInterrupted as error:
        notify(f"emufarm: {error}")
        sys.exit(Exit.INTERRUPTED)
    except (EmufarmError, OSError) as error:  # an OSError names its file: a disk, a folder
        notify(f"emufarm: {error}")
        sys.exit(Exit.INFRASTRUCTURE)
    except KeyboardInterrupt:  # before or after a run, such as while an image is built
        print("emufarm: interrupted", file=sys.stderr)
        sys.exit(Exit.INTERRUPTED)
