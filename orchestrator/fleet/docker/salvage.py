"""Brings evidence that dead workers had sealed from a run's volume to its folder.

<run>/staging/salvaged-<ms>.<slot>/    as a worker leaves its own (worker/staging.py)
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

from ...errors import EmufarmError
from ...evidence.bundle import wall_ms
from ...evidence.manifest import sealed
from ...files import sync_folder
from ...worker.staging import ATTEMPT, BUNDLE
from ..container_layout import STAGING
from . import containers
from .containers import ContainerLimits, ContainerSpec, Mount
from .engine import Engine
from .networks import Volume
from .owner import IMAGE, Owner

_LIMITS = ContainerLimits(cpus=1.0, memory_mb=64, pids=16)


def bring_home(engine: Engine, owner: Owner, volume: Volume) -> int:
    """How many slots had left evidence. It is in the run's folder and synced to disk, so that the
    volume may be removed. A process that is killed meanwhile leaves the volume as it was."""
    into = owner.staging
    into.mkdir(exist_ok=True)
    for unfinished in into.glob(".salvage-*"):
        shutil.rmtree(unfinished)
    with tempfile.TemporaryDirectory(prefix=".salvage-", dir=into) as folder:
        _copy_out(engine, owner, volume, Path(folder))
        left = [slot for slot in sorted(Path(folder, "staging").glob("*")) if waiting(slot)]
        now = wall_ms()
        for slot in left:
            home = slot.rename(into / f"salvaged-{now}.{slot.name}")
            for inside in (home, *(path for path in home.rglob("*") if path.is_dir())):
                sync_folder(inside)
        sync_folder(into)
    return len(left)


def waiting(slot: Path) -> bool:
    """Whether it holds sealed evidence; an attempt that was not sealed never happened."""
    kept = [*slot.glob("sealed-*"), *slot.glob("refused-*")]
    return bool(kept) or sealed(slot / ATTEMPT / BUNDLE)


def _copy_out(engine: Engine, owner: Owner, volume: Volume, folder: Path) -> None:
    """Reads the volume through a container that never runs: an engine gives no other access."""
    image = volume.labels.get(IMAGE)
    if not image:
        raise EmufarmError(f"the volume {volume.name} does not say which image reads it")
    spec = ContainerSpec(
        f"{owner.name}-salvage", image, ("true",), owner.labels, "none", _LIMITS,
        mounts=(Mount(STAGING, volume.name, volume=True),),
    )  # fmt: skip
    containers.remove(engine, spec.name)  # of a process that was killed meanwhile
    reader = containers.create(engine, spec)
    try:
        with tempfile.TemporaryFile(dir=folder) as archive:
            for piece in containers.download(engine, reader, STAGING):
                archive.write(piece)
            archive.seek(0)
            with tarfile.open(fileobj=archive, mode="r:") as members:
                _unpack(members, folder)
    finally:
        containers.remove(engine, reader)


def _unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpacks plain files below the folder; a path that leads elsewhere is refused."""
    for member in archive:
        place = PurePosixPath(member.name)
        if place.is_absolute() or ".." in place.parts:
            raise EmufarmError(f"a file on the volume is called {member.name!r}")
        content = archive.extractfile(member) if member.isreg() else None
        if content is not None:
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            with content, target.open("xb") as file:
                shutil.copyfileobj(content, file)
                file.flush()
                os.fsync(file.fileno())
