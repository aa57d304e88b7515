"""Reads a run's files for somebody elsewhere: its documents one by one, its bundles as archives.

    GET /v1/logs                                 the names of the files in logs/
    GET /v1/file?name=run_manifest.json
    GET /v1/bundle?folder=episodes/sms_reply.attack.1/attempt-1-c1

Only files that belong to the run are given out, by the names that its journal and its seal have.
"""

from __future__ import annotations

import re
import stat
import tempfile
from pathlib import Path, PurePosixPath
from typing import IO

from ..errors import EmufarmError
from ..evidence import archive
from .bundle_store import EPISODES, INCOMING
from .chain import FOLDER as JOURNAL

LOGS = "logs"  # what Pods and processes said; part of no seal until the run is sealed
_BUNDLE = re.compile(rf"{EPISODES}/[^/]+/(?:attempt-\d+|fenced-[0-9a-f]{{16}})-c\d+")
# Given out in another way, or to nobody.
_CLOSED = frozenset({EPISODES, INCOMING, JOURNAL, "secrets", "staging"})


def is_bundle(folder: str) -> bool:
    """Whether a bundle's folder may be called so, relative to its run's."""
    return bool(_BUNDLE.fullmatch(folder)) and ".." not in PurePosixPath(folder).parts


class NoSuchFile(EmufarmError):
    """The run has no such file to give out."""


def document(run: Path, name: str) -> Path:
    """A file of the run's folder; NoSuchFile where it is none, or a link leads to it."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or name.startswith("/") or parts[0] in _CLOSED or "\0" in name:
        raise NoSuchFile(f"{name!r} is no document of a run")
    place = run
    for part in parts:
        place = place / part
        if place.is_symlink():
            raise NoSuchFile(f"{name!r} is no document of a run")
    try:
        if stat.S_ISREG(place.lstat().st_mode):
            return place
    except OSError as error:
        raise NoSuchFile(f"the run has no {name!r}") from error
    raise NoSuchFile(f"{name!r} is no plain file")


def logs(run: Path) -> list[str]:
    """The names of its logs, by which `document` gives them out."""
    found = (path.relative_to(run).as_posix() for path in (run / LOGS).rglob("*"))
    return sorted(name for name in found if _is_document(run, name))


def _is_document(run: Path, name: str) -> bool:
    try:
        document(run, name)
    except NoSuchFile:
        return False
    return True


def packed_bundle(run: Path, folder: str) -> IO[bytes]:
    """The archive of a stored bundle, as a temporary file that goes when it is closed."""
    place = run / folder
    if not is_bundle(folder) or not place.is_dir():
        raise NoSuchFile(f"the run has no bundle {folder!r}")
    file = tempfile.NamedTemporaryFile(suffix=".tar.zst")  # noqa: SIM115 - the caller closes it
    try:
        archive.pack(place, Path(file.name))
        return file
    except BaseException:
        file.close()
        raise
