"""`emufarm worker`: runs attempts on one device; usually a fleet starts it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..worker.arguments import WorkerArguments, WorkerExit
from ..worker.process import run_worker


def worker(
    coordinator: Annotated[str, typer.Option(help="Its base URL.")],
    token_file: Annotated[Path, typer.Option(help="Holds the workers' secret.")],
    device: Annotated[str, typer.Option(help="The device's name in this run.")],
    control_port: Annotated[int, typer.Option(help="The supervisor's port.")],
    control_token_file: Annotated[Path, typer.Option(help="Holds the supervisor's secret.")],
    staging: Annotated[Path, typer.Option(help="Where attempts are written and wait.")],
    lock: Annotated[Path, typer.Option(help="The image's lock.")],
    profile: Annotated[str, typer.Option(help="The image's profile.")],
    boot_s: Annotated[float, typer.Option(help="Seconds that the device has to boot.")],
    away_s: Annotated[float, typer.Option(help="Seconds to wait for an absent coordinator.")],
    tied: Annotated[bool, typer.Option("--tied", help="End when stdin does.")] = False,
    exit_file: Annotated[
        Path | None,
        typer.Option(help="Gets the exit code, which is 0 then: a Pod restarts any other."),
    ] = None,
) -> None:
    """Run attempts on one device until every episode is decided.

    Example: emufarm worker --coordinator http://127.0.0.1:8000 --token-file t --device slot-00.1
    --control-port 9000 --control-token-file c --staging s --lock golden.lock.json
    --profile sim-api34 --boot-s 120 --away-s 180
    """
    arguments = WorkerArguments(
        coordinator, token_file, device, control_port, control_token_file, staging, lock, profile,
        boot_s, away_s, tied, exit_file,
    )  # fmt: skip
    code = run_worker(arguments, typer.echo)
    if exit_file is not None:
        exit_file.write_text(str(int(code)))
        code = WorkerExit.ALL_DECIDED
    raise typer.Exit(code)
