"""Sealed bundles on their way to the coordinator; a killed worker's wait here for the next one.

attempt/               being written
sealed-<ms>/bundle/    whole, with its manifest
sealed-<ms>/token      the lease it belongs to
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ..coordinator.client import CoordinatorClient, CoordinatorRefused, LeaseLost
from ..evidence.bundle import wall_ms
from ..evidence.manifest import seal

TOKEN, BUNDLE = "token", "bundle"


def put_aside(folder: Path, token: str, staging: Path) -> Path:
    """Seals a finished attempt; under its new name a bundle is whole and knows its lease."""
    seal(folder)
    sealed = staging / f"sealed-{wall_ms()}"
    sealed.mkdir()
    (sealed / TOKEN).write_text(token)
    folder.rename(sealed / BUNDLE)
    return sealed


def send(client: CoordinatorClient, sealed: Path) -> None:
    """Durable at the coordinator, then gone from here.

    One that comes too late is stored there and never scored; one that the run cannot keep at all
    is of no use to anybody.
    """
    try:
        client.commit((sealed / TOKEN).read_text(), sealed / BUNDLE)
    except LeaseLost:
        pass  # as said above
    except (CoordinatorRefused, OSError) as error:
        (sealed / "why").write_text(f"{error}\n")
        sealed.rename(sealed.with_name(sealed.name.replace("sealed", "refused")))
        return
    shutil.rmtree(sealed)


def send_sealed(client: CoordinatorClient, staging: Path) -> None:
    """Whatever earlier workers left here."""
    for sealed in sorted(staging.glob("sealed-*")):
        send(client, sealed)
