"""The same script on the phone and in Debian's mksh with toybox, which Android 14 has too.

A machine without them gets them from its package index where the tests run as root on Debian;
elsewhere the comparison is skipped. Nothing else of the host takes part: what Debian's toybox is
built without has its output in the test itself (programs/test_toybox.py).
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.guest import Guest

PACKAGES = ("mksh", "toybox")
INSTALL_S = 300
SCRIPT_S = 120


def scripts(text: str) -> list[str]:
    """Scripts that are separated by lines of dashes."""
    return text.strip().split("\n----\n")


async def check(guest: Guest, script: str) -> None:
    """Output, errors and exit code of the phone's shell are the reference's."""
    if missing := _missing():
        pytest.skip(f"nothing to compare with: apt-get install {' '.join(missing)}")
    folder = guest.folder / "reference"
    folder.mkdir()
    expected = await asyncio.to_thread(
        subprocess.run,
        ["/system/bin/sh", "-c", script],
        executable=programs() / "sh",
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=SCRIPT_S,
        env={"PATH": str(programs()), "LC_ALL": "C.UTF-8", "HOME": "/"},
    )
    answer = await guest.sh(script)
    assert answer.out == expected.stdout.decode("utf-8", "surrogateescape")
    # Debian's mksh is a little newer than Android's, and says first how bad an error is.
    errors = re.sub(
        "^[EW]: ", "", expected.stderr.decode("utf-8", "surrogateescape"), flags=re.MULTILINE
    )
    assert answer.err == errors
    assert answer.code == expected.returncode


@cache
def programs() -> Path:
    """A folder with `sh`, toybox's programs and nothing else."""
    folder = Path(tempfile.mkdtemp(prefix="simphone-reference-"))
    toybox, mksh = shutil.which("toybox"), shutil.which("mksh")
    assert toybox
    assert mksh
    listed = subprocess.run([toybox], capture_output=True, text=True, timeout=60, check=True)
    for name in listed.stdout.split():
        (folder / name).symlink_to(toybox)
    (folder / "sh").symlink_to(mksh)
    return folder


@cache
def _missing() -> list[str]:
    """The packages that are not there and cannot be installed."""
    with _alone():
        missing = [name for name in PACKAGES if shutil.which(name) is None]
        if not missing or os.getuid() != 0 or shutil.which("apt-get") is None:
            return missing
        for command in (["update"], ["install", "-y", "--no-install-recommends", *missing]):
            ended = subprocess.run(
                ["apt-get", "-qq", *command],
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                capture_output=True,
                timeout=INSTALL_S,
                check=False,
            )
            if ended.returncode != 0:
                break
        return [name for name in missing if shutil.which(name) is None]


@contextmanager
def _alone() -> Iterator[None]:
    """Test processes that run side by side install once."""
    with Path(tempfile.gettempdir(), "simphone-reference.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
