"""Keeps the whole status of a Pod in the run's folder: the cluster forgets it with the Pod."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from ...events.notify import Notify
from ...files import write_atomically
from .api import Json


async def keep_status(logs: Path, name: str, pod: Json, notify: Notify) -> None:
    """As <name>.pod.json; one that cannot be written is notified."""
    parts = {"spec": pod.get("spec"), "status": pod.get("status")}
    try:
        await asyncio.to_thread(_write, logs / f"{name}.pod.json", json.dumps(parts, indent=2))
    except OSError as error:
        notify(f"the status of the Pod of {name} cannot be kept: {error}")


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, [content.encode()])
