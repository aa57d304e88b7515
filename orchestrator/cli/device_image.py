"""`emufarm device bake` and `device prove`: run beside a supervisor while its image is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..image.device_bake import SupervisedPhone, bake_supervised, prove_supervised
from .output import notify

ControlPort = Annotated[int, typer.Option(help="The supervisor's port.")]
TokenFile = Annotated[Path, typer.Option(help="Holds the supervisor's secret.")]
Seconds = Annotated[float, typer.Option(help="How long the boot may take.")]


def bake(
    profile: Annotated[str, typer.Argument(help="What the phone is set up as.")],
    control_port: ControlPort,
    control_token_file: TokenFile,
    apks: Annotated[
        Path | None, typer.Option(help="Folder of the profile's apps: PACKAGE.apk.")
    ] = None,
    boot: Seconds = 600.0,
) -> None:
    """Set a cold-booted phone up, save its snapshots, switch it off, and print what a lock needs.

    `emufarm image bake` runs it beside the device's container.

    Example: emufarm device bake sim-api34 --control-port 5600 --control-token-file control.token
    """
    phone = SupervisedPhone(control_port, control_token_file, boot)
    bake_supervised(
        phone, profile, apks or Path(), lambda facts: typer.echo(json.dumps(facts)), notify
    )


def prove(
    lock: Annotated[Path, typer.Option(help="The image's lock.")],
    control_port: ControlPort,
    control_token_file: TokenFile,
    boot: Seconds = 600.0,
) -> None:
    """Prove that a phone which was started from its snapshot is the one that was baked.

    The whole proof of a reset, for each snapshot. Exit 0 if it holds, 20 if not.

    Example: emufarm device prove --lock image.lock.json --control-port 5600
    --control-token-file control.token
    """
    phone = SupervisedPhone(control_port, control_token_file, boot)
    held = prove_supervised(phone, lock, notify)
    typer.echo(json.dumps({"proven": held.digest}))
