"""Where do a run's devices keep their copies, and who removes what a killed run left?

<tmp>/emufarm-work-<uid>/run-XXXX/          one run's
                        /run-XXXX/.owner    locked while that run lives
                        /.door              held while a folder is made or looked at
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import UsageError

OWNER = ".owner"


@contextmanager
def work_folder(below: Path | None = None) -> Iterator[Path]:
    """A folder that is gone afterwards; those of dead runs go now, those of living ones stay."""
    root = (below or Path(tempfile.gettempdir())) / f"emufarm-work-{os.getuid()}"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if root.stat().st_uid != os.getuid():
            raise UsageError(f"{root} is another user's: set TMPDIR")
        with (root / ".door").open("ab") as door:
            fcntl.flock(door, fcntl.LOCK_EX)  # whoever holds it only makes or removes folders
            _sweep(root)
            folder = Path(tempfile.mkdtemp(prefix="run-", dir=root))
            owner = (folder / OWNER).open("ab")
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise UsageError(f"cannot work in {root}: {error}; set TMPDIR") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # what stays is the next run's to sweep
        owner.close()


def _sweep(root: Path) -> None:
    for folder in root.glob("run-*"):
        try:
            owner = (folder / OWNER).open("ab")
        except FileNotFoundError:
            continue  # its owner is removing it
        with owner:
            try:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(folder, ignore_errors=True)
