"""Where are the wheels of the lock? Downloaded once by the host, for images that have no network.

    <cache>/wheels/<digest>/*.whl, *.tar.gz    for Python 3.11 on Linux x86_64, whatever runs here
    <cache>/wheels/.<digest>.lock              held by whoever looks or downloads

A build need not reach a package index, nor trust what the host's proxy signs. Every file is held
against the lock at every use: one that the lock does not name is not a wheel of ours.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ..errors import EmufarmError, UsageError
from ..events.notify import Notify
from ..locks import wait_lock
from ..pins.files import file_sha256
from ..shipped import ROOT

# The installer and the build backend first: one requirement is published as source only.
LOCKS = ("requirements-build.txt", "requirements.txt")
PYTHON = "3.11"
# Oldest first; pip takes each name for itself alone.
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64")
DOWNLOAD_S = 900.0
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class NoWheelhouse(EmufarmError):
    """The wheels could not be had."""


def wheelhouse(cache: Path, notify: Notify, root: Path = ROOT) -> Path:
    """The folder; `notify` gets a line before a download."""
    text = _lock_text(root)
    name = hashlib.sha256("\n".join((text, PYTHON, *PLATFORMS)).encode()).hexdigest()
    folder = cache / "wheels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        waiting = "waiting for another emufarm that downloads these wheels"
        with wait_lock(folder / f".{name}.lock", DOWNLOAD_S, lambda: notify(waiting)):
            place = folder / name
            if place.exists():
                if not (wrong := _strangers(place, text)):
                    return place
                notify(f"{wrong} in the wheelhouse is not what the lock names: downloading again")
                shutil.rmtree(place)
            notify(f"downloading the locked wheels, once: {name[:12]}")
            new = folder / f".{name}.new"
            shutil.rmtree(new, ignore_errors=True)
            _download(new, root)
            if wrong := _strangers(new, text):
                raise NoWheelhouse(f"{wrong} is not what the lock names, though it was downloaded")
            new.rename(place)
            return place
    except OSError as error:
        raise UsageError(f"cannot keep wheels in {folder}: {error}") from error


def require_locked(house: Path, root: Path = ROOT) -> None:
    """UsageError where somebody else's wheelhouse holds what the lock does not name."""
    try:
        wrong = _strangers(house, _lock_text(root))
    except OSError as error:
        raise UsageError(f"cannot read the wheelhouse {house}: {error.strerror}") from error
    if wrong:
        raise UsageError(f"{house / wrong} is not what the lock names: make the wheelhouse anew")


def _lock_text(root: Path) -> str:
    try:
        return "\n".join((root / name).read_text("utf-8") for name in LOCKS)
    except OSError as error:
        raise UsageError(
            f"images are made from a checkout, and {error.filename} is not there"
        ) from error


def _strangers(house: Path, text: str) -> str:
    """The first file that is not in the lock; empty where there is none."""
    known = set(_HASH.findall(text))
    return next((p.name for p in sorted(house.iterdir()) if file_sha256(p) not in known), "")


def _download(folder: Path, root: Path) -> None:
    command = [
        sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download",
        "--require-hashes", "--no-deps", "--no-build-isolation", "--dest", str(folder),
        "--implementation", "cp", "--python-version", PYTHON,
        *(word for abi in ("cp311", "abi3", "none") for word in ("--abi", abi)),
        *(word for name in (*PLATFORMS, "any") for word in ("--platform", name)),
        *(word for name in LOCKS for word in ("-r", str(root / name))),
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=_env(os.environ),
            timeout=DOWNLOAD_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise NoWheelhouse(f"the wheels did not come within {DOWNLOAD_S:g} s") from error
    if done.returncode != 0:
        last = [line for line in done.stderr.splitlines() if line.strip()][-1:] or [
            "it said nothing"
        ]
        raise NoWheelhouse(f"pip could not download the locked wheels: {last[0].strip()}")


def _env(environ: Mapping[str, str]) -> dict[str, str]:
    """Without a Python path of the caller's, which is not the venv's pip's business."""
    return {name: value for name, value in environ.items() if name != "PYTHONPATH"}
