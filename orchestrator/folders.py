"""Finds folders: the files that come with emufarm, the cases that a command names, the cache.

A checkout has the files that come with emufarm at its root, beside this package. An installed wheel
has them at the same relative paths below `data/` in the package, where setup.py puts them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .errors import UsageError

PACKAGE = Path(__file__).resolve().parent
DATA = "data"
CHECKOUT = not (PACKAGE / DATA).is_dir()
ROOT = PACKAGE.parent if CHECKOUT else PACKAGE / DATA
CACHE_VARIABLE = "EMUFARM_CACHE"


def find_cases(folder: Path) -> Path:
    """The folder, or the one of that name that comes with emufarm where there is none here."""
    shipped = ROOT / folder
    return folder if folder.is_dir() or not shipped.is_dir() else shipped


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where images and wheels are kept between runs."""
    if named := environ.get(CACHE_VARIABLE):
        return Path(named).absolute()
    try:
        home = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:
        raise UsageError(f"there is no home folder to cache in: set {CACHE_VARIABLE}") from error
    return Path(home).absolute() / "emufarm"
