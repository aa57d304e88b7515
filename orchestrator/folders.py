"""Finds folders: the files that come with emufarm, a command's cases, the cache; names runs'.

A checkout has the files that come with emufarm at its root, beside this package. An installed wheel
has them at the same relative paths below `data/` in the package, where setup.py puts them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .errors import UsageError, printable

PACKAGE = Path(__file__).resolve().parent
DATA = "data"
CHECKOUT = not (PACKAGE / DATA).is_dir()
ROOT = PACKAGE.parent if CHECKOUT else PACKAGE / DATA
CACHE_VARIABLE = "EMUFARM_CACHE"
LONGEST_NAME = 200  # bytes; a folder's name has 255, and `-again-1` is added to it


def find_cases(folder: Path) -> Path:
    """The folder, or the one of that name that comes with emufarm where there is none here."""
    shipped = ROOT / folder
    return folder if folder.is_dir() or not shipped.is_dir() else shipped


def require_run_name(name: str) -> None:
    """UsageError where no run's folder may be called so; within that, a name is free text."""
    if not name.isprintable() or any("\ud800" <= each <= "\udfff" for each in name):
        raise UsageError(
            f"{printable(name)} is no name for a run: give it in printable characters, on one line"
        )
    if not name or name.startswith(".") or "/" in name:
        raise UsageError(f"{name!r} is no name for a run: give it without folders, and use --runs")
    if len(name.encode()) > LONGEST_NAME:
        raise UsageError(
            f"{name[:40]}... is no name for a run: give one of at most {LONGEST_NAME} bytes"
        )


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where images and wheels are kept between runs."""
    if named := environ.get(CACHE_VARIABLE):
        return Path(named).absolute()
    try:
        home = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:
        raise UsageError(f"there is no home folder to cache in: set {CACHE_VARIABLE}") from error
    return Path(home).absolute() / "emufarm"
