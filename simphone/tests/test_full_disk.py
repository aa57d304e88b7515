"""A disk without room: the phone says so at its start, and lives on where it comes later.

A small disk is a tmpfs in a namespace of the child's own; where that is not allowed, these are
skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simphone.avd import create_avd
from tests.ports import even_port

ROOT = Path(__file__).parents[1]
PATIENCE_S = 60.0


def on_small_disk(folder: Path, size: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs Python with what is in `folder` on a disk of this size."""
    copied = folder.with_name("copied")
    copied.mkdir()
    script = (
        'cp -a "$1/." "$2" && mount -t tmpfs -o size="$3" tmpfs "$1" && cp -a "$2/." "$1" '
        '&& shift 3 && exec "$@"'
    )
    own = ["unshare", "-Urm"]
    if shutil.which("unshare") is None or subprocess.run([*own, "true"], check=False).returncode:
        pytest.skip("no mount namespace of one's own here")
    env = os.environ | {"ANDROID_AVD_HOME": str(folder), "HOME": str(folder)}
    return subprocess.run(
        [*own, "sh", "-c", script, "sh", str(folder), str(copied), size, sys.executable, *words],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("size", ["60k", "1200k"])
def test_a_phone_without_room_says_so_and_exits(tmp_path: Path, size: str) -> None:
    create_avd(tmp_path / "avd", "x")
    port = str(even_port())
    argv = ("-m", "simphone", "-avd", "x", "-port", port)
    ended = on_small_disk(tmp_path / "avd", size, *argv)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.splitlines()[-1] == (
        "FATAL        | Not enough disk space to run AVD 'x'. Exiting..."
    )


def test_a_disk_that_fills_up_costs_what_is_written_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    ended = on_small_disk(
        tmp_path / "disk", "5m", "-m", "tests.filled_disk", str(tmp_path / "disk")
    )
    assert ended.returncode == 0, ended.stderr
    seen = json.loads(ended.stdout)
    full = "No space left on device\n"
    assert seen["dd"] == [1, f"dd: {full}"]
    assert seen["echo"] == [1, f"echo: {full}"]
    assert seen["settings put"][1].startswith("android.database.sqlite.SQLiteFullException: ")
    assert seen["settings get"] == [0, "1\n"]  # what is there can be read
    assert seen["save"] == f"KO: Snapshot save failure: could not write the snapshot: {full[:-1]}"
    assert seen["load"] == "KO: Snapshot load failure: not enough disk space"
    assert seen["rebooted"] is True
    assert seen["after"] == [0, "again\n"]
