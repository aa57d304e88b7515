"""A run's private work folder, removed after it; folders that killed runs left are swept.

<tmp>/emufarm-work-<uid>/run-XXXX/          one run's: its devices' copies of the AVD, its secrets
                        /run-XXXX/.owner    locked while that run lives
                        /.door              held while a folder is made or looked at
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import UsageError
from ...locks import LockHeld, try_lock, wait_lock

OWNER = ".owner"
DOOR_S = 300.0  # its holder only makes and removes folders, which may be large


@contextmanager
def work_folder(below: Path | None = None) -> Iterator[Path]:
    """A new folder, removed after the block; those of dead runs are removed now."""
    root = (below or Path(tempfile.gettempdir())) / f"emufarm-work-{os.getuid()}"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if root.stat().st_uid != os.getuid():
            raise UsageError(f"{root} is another user's: set TMPDIR")
        with wait_lock(root / ".door", DOOR_S):
            _sweep(root)
            folder = Path(tempfile.mkdtemp(prefix="run-", dir=root))
            owner = try_lock(folder / OWNER)
    except OSError as error:
        raise UsageError(f"cannot work in {root}: {error}; set TMPDIR") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # the next run sweeps what stays
        owner.close()


def _sweep(root: Path) -> None:
    for folder in root.glob("run-*"):
        try:
            with try_lock(folder / OWNER):
                shutil.rmtree(folder, ignore_errors=True)
        except (LockHeld, FileNotFoundError):
            continue  # its run is alive, or removing it
