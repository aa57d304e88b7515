"""`emufarm smoke`: does this machine run a phone at all? Boots one, uses it, shows it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ..device.thumbnail import thumbnail
from ..errors import EmufarmError, UsageError
from .phones import boot, simulated_phone


def smoke(
    folder: Annotated[Path, typer.Option("--folder", help="Where the picture goes.")] = Path(
        "runs/smoke"
    ),
) -> None:
    """Boot a simulated phone, open Settings on it, save its picture and load a snapshot.

    Example: emufarm smoke --folder /tmp/smoke
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; choose --folder") from error
    started = time.monotonic()
    with simulated_phone() as running:
        device, _ = boot(running)
        facts = device.identity()
        typer.echo(f"booted     {running.serial} in {time.monotonic() - started:.1f} s")
        typer.echo(f"phone      {facts.fingerprint}")
        device.snapshots.save("smoke")
        before = device.foreground()
        device.packages.open("com.android.settings")
        shot = device.screen.capture()
        picture = folder / "screen.png"
        picture.write_bytes(shot.png)
        typer.echo(f"opened     {device.foreground().activity}")
        typer.echo(f"picture    {picture} ({shot.width}x{shot.height})")
        if sys.stdout.isatty():
            typer.echo(thumbnail(shot))
        device.snapshots.load("smoke")
        after = device.foreground()
        if after != before:
            raise EmufarmError(
                f"after the reset {after.activity} is in front, not {before.activity}"
            )
        typer.echo(f"reset      snapshot loaded and proven, {after.activity} is in front again")
    typer.echo(f"smoke ok   {time.monotonic() - started:.1f} s, nothing left running")
