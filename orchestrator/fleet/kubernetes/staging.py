"""Keeps the staging that all Pods share, and sends what a dead Pod's worker had sealed there.

    /staging/<run>/<device>/    as its worker left it (worker/staging.py), who sees nothing else
    /staging/<run>/owner        the namespace and uid of its FarmRun

With an emptyDir, the default, there is nothing here: such evidence is lost with its Pod. A deleted
run's folder is removed when the next run on the volume begins.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from ...coordinator.client import CoordinatorClient
from ...worker.staging import lock_staging, send_sealed
from ..port import FleetOrder

OWNER = "owner"


def owner_of(namespace: str, uid: str) -> str:
    """Of a run's folder: names are given again, uids are not."""
    return f"{namespace}/{uid}"


def claim(folder: Path, owner: str) -> None:
    """For a run, before its first device."""
    folder.mkdir(exist_ok=True)
    (folder / OWNER).write_text(owner)


def make_room(folder: Path) -> None:
    """For a device, before its Pod: a folder that the kubelet makes is root's, and stays."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o770)


def owners(place: Path) -> dict[str, str]:
    """The folders of runs, and whose they are; others on the volume are not ours."""
    return {path.parent.name: path.read_text().strip() for path in place.glob(f"*/{OWNER}")}


def orphans(found: Mapping[str, str], namespace: str, alive: Collection[str]) -> list[str]:
    """The folders of this namespace's runs whose FarmRun is gone; `alive` are the owners that are
    there. Pure."""
    ours = owner_of(namespace, "")
    return sorted(
        run for run, owner in found.items() if owner.startswith(ours) and owner not in alive
    )


def remove(folder: Path, owner: str) -> None:
    """An orphan; not where another run has its name by now."""
    if (folder / OWNER).read_text().strip() == owner:
        shutil.rmtree(folder)


def release(folder: Path) -> None:
    """At the run's end. What nobody could send stays."""
    with suppress(OSError):  # there is no such folder
        if all(path.name == OWNER for path in folder.iterdir()):
            shutil.rmtree(folder)


def send_left(order: FleetOrder, staging: Path, device: str) -> None:
    """The device's Pod is gone, and nobody writes there any more. EmufarmError where the folder is
    still in use, or the coordinator does not answer: this process, which need not go through its
    own Service; that listens at the same port."""
    if not staging.is_dir():
        return
    secret = order.key.secret(device)
    here = f"http://127.0.0.1:{urlsplit(order.coordinator).port}"
    with (
        lock_staging(staging),
        CoordinatorClient(here, secret, worker=f"{device}-left") as client,
    ):
        send_sealed(client, staging)
    if not any(staging.glob("refused-*")):
        shutil.rmtree(staging)
