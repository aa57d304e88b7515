"""Downloads the locked wheels, once, for image builds that have no network.

    <cache>/wheels/<digest>/*.whl, *.tar.gz    for Python 3.11 on Linux x86_64, on any host
    <cache>/wheels/.<digest>.lock              held by the process that checks or downloads

So a build needs neither a package index nor the certificate of the host's proxy. Every file is
checked at every use: its hash must be in the locks.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ..errors import EmufarmError, UsageError
from ..events.notify import Notify
from ..files import file_sha256
from ..folders import ROOT
from ..locks import wait_lock

# With the build backend, because one requirement is published only as a source archive.
LOCKS = ("requirements-build.txt", "requirements.txt")
PYTHON = "3.11"
# pip does not derive one of these from another.
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64")
DOWNLOAD_S = 900.0
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class NoWheelhouse(EmufarmError):
    """The wheels could not be downloaded."""


def wheelhouse(cache: Path, notify: Notify, root: Path = ROOT) -> Path:
    """The folder of wheels. `notify` gets a line before a download."""
    text = _lock_text(root)
    name = hashlib.sha256("\n".join((text, PYTHON, *PLATFORMS)).encode()).hexdigest()
    folder = cache / "wheels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        waiting = "waiting for another emufarm that downloads these wheels"
        with wait_lock(folder / f".{name}.lock", DOWNLOAD_S, lambda: notify(waiting)):
            place = folder / name
            if place.exists():
                if not (wrong := _first_unlocked(place, text)):
                    return place
                notify(f"{wrong} in the wheelhouse is not in the lock: downloading again")
                shutil.rmtree(place)
            notify(f"downloading the locked wheels, once: {name[:12]}")
            new = folder / f".{name}.new"
            shutil.rmtree(new, ignore_errors=True)
            _download(new, root)
            if wrong := _first_unlocked(new, text):
                raise NoWheelhouse(f"{wrong} was downloaded, and is not in the lock")
            new.rename(place)
            return place
    except OSError as error:
        raise UsageError(f"cannot keep wheels in {folder}: {error}") from error


def require_locked(house: Path, root: Path = ROOT) -> None:
    """UsageError where a file in a wheelhouse is not in the lock."""
    try:
        wrong = _first_unlocked(house, _lock_text(root))
    except OSError as error:
        raise UsageError(f"cannot read the wheelhouse {house}: {error.strerror}") from error
    if wrong:
        raise UsageError(f"{house / wrong} is not in the lock: make the wheelhouse again")


def _lock_text(root: Path) -> str:
    try:
        return "\n".join((root / name).read_text("utf-8") for name in LOCKS)
    except OSError as error:
        raise UsageError(f"{error.filename} is missing, and images are built with it") from error


def _first_unlocked(house: Path, text: str) -> str:
    """The name of the first file that is not in the lock, or an empty string."""
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
    # Without the caller's PYTHONPATH, which pip must not import from.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environ,
            timeout=DOWNLOAD_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise NoWheelhouse(f"the wheels did not come within {DOWNLOAD_S:g} s") from error
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        why = lines[-1] if lines else f"exit code {done.returncode}"
        raise NoWheelhouse(f"pip could not download the locked wheels: {why}")
