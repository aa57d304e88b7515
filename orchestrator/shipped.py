"""Finds the files that come with emufarm: cases, profiles, and what images are built from.

A checkout has them at its root, beside this package. An installed wheel has them at the same
relative paths below `data/` in the package, where setup.py puts them.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
DATA = "data"
CHECKOUT = not (PACKAGE / DATA).is_dir()
ROOT = PACKAGE.parent if CHECKOUT else PACKAGE / DATA


def find_cases(folder: Path) -> Path:
    """The folder, or the shipped one of that name where the current folder has none."""
    shipped = ROOT / folder
    return folder if folder.is_dir() or not shipped.is_dir() else shipped
