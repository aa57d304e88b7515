"""The control groups that a node's Pods live in, and the processes in them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from tests.e2e.cluster.layout import NoCluster

PLACE = Path("/sys/fs/cgroup")
GONE_S = 20.0
COPIED = ("cpuset.cpus", "cpuset.mems")  # empty in a new group of the first kind, and then useless


def make(name: str) -> None:
    """A group in every hierarchy; name it by its path from there."""
    for hierarchy in _hierarchies():
        group = hierarchy
        for part in name.strip("/").split("/"):
            _pass_controllers_on(group)
            parent, group = group, group / part
            group.mkdir(exist_ok=True)
            for setting in COPIED:
                if _kind_one() and (parent / setting).exists():
                    (group / setting).write_text((parent / setting).read_text())


def remove(name: str) -> None:
    """With all groups in it; whatever lived there has been killed, and may need a moment to go."""
    deadline = time.monotonic() + GONE_S
    while left := [group for group in groups(name) if not _removed(group)]:
        if time.monotonic() > deadline:
            raise NoCluster(f"processes are left in {left[0]}")
        time.sleep(0.05)


def groups(name: str) -> list[Path]:
    """All of that name and below, the innermost first."""
    tops = (hierarchy / name.strip("/") for hierarchy in _hierarchies())
    return [Path(at) for top in tops for at, _, _ in os.walk(top, topdown=False)]


def _hierarchies() -> list[Path]:
    if not _kind_one():
        return [PLACE]
    return [one for one in PLACE.iterdir() if one.is_dir() and not one.is_symlink()]


def _kind_one() -> bool:
    return not (PLACE / "cgroup.controllers").exists()


def _pass_controllers_on(group: Path) -> None:
    """The second kind has a controller below only where its parent says so."""
    if not _kind_one():
        offered = (group / "cgroup.controllers").read_text().split()
        (group / "cgroup.subtree_control").write_text(" ".join(f"+{one}" for one in offered))


def _removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def processes(container: str) -> list[int]:
    """Those in the group of a container."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may end meanwhile
            if container in (folder / "cgroup").read_text():
                found.append(int(folder.name))
    return found


def is_first(pid: int) -> bool:
    """Of its namespace of processes."""
    with suppress(OSError):  # it may end meanwhile
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                return line.split()[-1] == "1"
    return False
