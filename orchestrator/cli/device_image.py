"""`emufarm device bake` and `device prove`: run beside a supervisor while its image is made."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..device.attach import attach, wait_booted
from ..device.phone import Device
from ..errors import UsageError
from ..image.bake_steps import bake_phone, prove_phone
from ..pins.host import host_facts
from ..pins.image_lock import read_lock
from ..pins.profile import load_profile
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
    wanted = load_profile(profile)
    apk_files = {apk.package: (apks or Path()) / f"{apk.package}.apk" for apk in wanted.apks}
    phone = _booted(control_port, control_token_file, boot)
    baked = bake_phone(phone, wanted, secrets.token_hex(8), notify, apk_files)
    cpu = host_facts()["cpu"]["model"]
    facts = {**asdict(baked), "host_cpu": cpu if isinstance(cpu, str) else f"unknown: {cpu['why']}"}
    # First what was learned, then the end: a phone that hangs at its end is the engine's to see.
    typer.echo(json.dumps(facts))
    notify("switching the phone off")
    phone.console.kill()


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
    held = read_lock(lock)
    prove_phone(_booted(control_port, control_token_file, boot), held, notify)
    typer.echo(json.dumps({"proven": held.digest}))


def _booted(port: int, token_file: Path, seconds: float) -> Device:
    try:
        token = token_file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read the secret in {token_file}: {error}") from error
    return wait_booted(attach(port, token, seconds, notify), seconds, notify)
