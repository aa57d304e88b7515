"""Sends what a dead Pod's worker had sealed, where staging is on a volume that this process sees.

    /staging/<run>/<device>/    as its worker left it (worker/staging.py)

With an emptyDir, the default, there is nothing here: such evidence is lost with its Pod.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ...coordinator.client import CoordinatorClient
from ...worker.staging import lock_staging, send_sealed
from ..port import FleetOrder


def send_left(order: FleetOrder, staging: Path, device: str) -> None:
    """The device's Pod is gone, and nobody writes there any more. EmufarmError where the folder is
    still in use, or the coordinator does not answer."""
    if not staging.is_dir():
        return
    secret = order.key.secret(device)
    with (
        lock_staging(staging),
        CoordinatorClient(order.coordinator, secret, worker=f"{device}-left") as client,
    ):
        send_sealed(client, staging)
    if not any(staging.glob("refused-*")):
        shutil.rmtree(staging)
