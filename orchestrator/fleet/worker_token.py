"""Writes the file with a worker's own secret."""

from __future__ import annotations

from pathlib import Path

from .port import FleetOrder


def worker_token(order: FleetOrder, device: str) -> Path:
    """The file for the workers of this device, in the device's own folder. All users may read it,
    because containers run as other users; the private work folder around it keeps local users
    out."""
    path = order.work / device / "worker.token"
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_text(order.key.secret(device))
        path.chmod(0o444)
    return path
