"""A separate Docker engine whose disk is almost full.

In a network namespace of its own: an engine takes the machine's docker0 for its own, and without a
bridge it even removes another's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BASE_IMAGE = os.environ.get("EMUFARM_BASE_IMAGE") or "emufarm-base:bookworm"
ROOM_MB = 87  # beside the base image: less than a device image takes
START_S = 60.0


@contextmanager
def full_engine() -> Iterator[str]:
    """Its address; the base image is in it."""
    # Not in a test's own folder: the paths of sockets are short.
    place = Path(tempfile.mkdtemp(prefix="emufarm-full-"))
    disk, host = place / "disk", f"unix://{place}/docker.sock"
    disk.mkdir()
    size = f"size={_base_mb() + ROOM_MB}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", disk], check=True)
    try:
        with _running(place, disk, host):
            save = ["docker", "save", BASE_IMAGE]
            with subprocess.Popen(save, stdout=subprocess.PIPE) as saved:
                _docker(host, "load", stdin=saved.stdout)
            assert saved.returncode == 0
            yield host
    finally:
        subprocess.run(["umount", disk], check=True)
        shutil.rmtree(place)


@contextmanager
def _running(place: Path, disk: Path, host: str) -> Iterator[None]:
    command = [
        # Whoever kills the tests ends the engine too.
        "setpriv", "--pdeathsig", "TERM", "--",
        "unshare", "--net", "dockerd", "--data-root", str(disk), "--exec-root", str(place / "exec"),
        "--pidfile", str(place / "pid"), "--host", host,
    ]  # fmt: skip
    # What is loaded passes through a folder for temporary files, which is not what is small here.
    env = {**os.environ, "DOCKER_TMPDIR": str(place / "tmp")}
    with (place / "log").open("wb") as log:
        engine = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + START_S
        while _docker(host, "version", check=False):
            assert engine.poll() is None, (place / "log").read_text()
            assert time.monotonic() < deadline, (place / "log").read_text()
            time.sleep(0.1)
        yield
    finally:
        engine.terminate()
        engine.wait(60)


def _base_mb() -> int:
    asked = ["docker", "image", "inspect", "--format", "{{.Size}}", BASE_IMAGE]
    told = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    return int(told.stdout) >> 20


def _docker(host: str, *words: str, stdin: object = None, check: bool = True) -> int:
    done = subprocess.run(
        ["docker", *words], env={**os.environ, "DOCKER_HOST": host}, stdin=stdin,  # type: ignore[call-overload]
        capture_output=True, timeout=120, check=check,
    )  # fmt: skip
    return int(done.returncode)
