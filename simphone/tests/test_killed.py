"""Whoever kills an emulator while it saves or loads leaves a phone that the next one can start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from simphone.avd import DEFAULTS, EMBEDDED, Avd
from simphone.disk import Disk
from simphone.snapshots import Snapshots, recover_userdata
from simphone.world import World

# Does its deed again and again, killed before the first change of the file system, before the
# second, and so on until it gets through. Prints how each child ended.
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from tests.test_killed import living, snapshots_of

CHANGES = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.truncate")

def save(snapshots, world):
    snapshots.save("t", world)

def load(snapshots, world):
    snapshots.restore(snapshots.prepare("t", world), world)

def run(deed, folder, limit):
    snapshots, world = snapshots_of(folder), living(folder, "new")
    calls = 0

    def count(event, args):  # told of every change before it happens
        nonlocal calls
        if event in CHANGES:
            calls += 1
            if calls == limit:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    deed(snapshots, world)

golden = Path(sys.argv[1])
limit = code = 1
while code:
    folder = golden.with_name(f"at{limit}")
    shutil.copytree(golden, folder)
    child = os.fork()
    if not child:
        run({"save": save, "load": load}[sys.argv[2]], folder, limit)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code)
    limit += 1
"""


def snapshots_of(folder: Path) -> Snapshots:
    hardware = Avd("x", folder, DEFAULTS, EMBEDDED).hardware()
    return Snapshots(folder / "snapshots", hardware, "image", "1")


def living(folder: Path, mark: str) -> World:
    """A world that says `mark` in its memory and on its disk."""
    world = World(Disk(folder / "userdata", EMBEDDED), {})
    world.clipboard.text = mark
    (folder / "userdata/which").write_text(mark)
    return world


def golden(tmp_path: Path) -> Path:
    folder = tmp_path / "golden"
    (folder / "userdata/data").mkdir(parents=True)
    (folder / "userdata/data/file").write_bytes(os.urandom(1000))
    snapshots_of(folder).save("t", living(folder, "old"))
    return folder


def killed_at_every_step(folder: Path, deed: str) -> list[Path]:
    """The folders left behind, in the order of the steps; in the last one it got through."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), deed],
        capture_output=True,
        check=False,
        timeout=240,
        text=True,
    )
    assert not done.stderr
    codes = [int(line) for line in done.stdout.split()]
    assert codes == [-signal.SIGKILL] * (len(codes) - 1) + [0]
    return [folder.with_name(f"at{limit}") for limit in range(1, len(codes) + 1)]


def saved(folder: Path) -> tuple[str, str]:
    """What the one snapshot holds, in memory and on disk, as the next emulator finds it."""
    kept = snapshots_of(folder)
    kept.recover()
    assert [path.name for path in (folder / "snapshots").iterdir()] == ["t"]
    (folder / "scratch").mkdir()
    prepared = kept.prepare("t", World(Disk(folder / "scratch/userdata", EMBEDDED), {}))
    return prepared.memory["clipboard"], (prepared.userdata / "which").read_text()


def test_a_kill_at_any_moment_of_a_save_leaves_the_old_snapshot_or_the_new(tmp_path: Path) -> None:
    told = [saved(folder) for folder in killed_at_every_step(golden(tmp_path), "save")]
    assert set(told) == {("old", "old"), ("new", "new")}
    assert told == sorted(told, reverse=True)
    assert told.count(("old", "old")) > 10


def test_a_kill_at_any_moment_of_a_load_leaves_the_old_disk_or_the_new(tmp_path: Path) -> None:
    told = []
    for folder in killed_at_every_step(golden(tmp_path), "load"):
        recover_userdata(folder / "userdata")
        assert sorted(path.name for path in folder.iterdir()) == ["snapshots", "userdata"]
        assert (folder / "userdata/data/file").stat().st_size == 1000
        told.append((folder / "userdata/which").read_text())
        assert saved(folder) == ("old", "old")
    # "new" is the world that lived, "old" the one that was loaded.
    assert told == sorted(told)
    assert min(told.count("new"), told.count("old")) > 3


@pytest.mark.parametrize("left", ["none", "new", "old and new", "old"])
def test_whatever_a_load_leaves_one_disk_remains(tmp_path: Path, left: str) -> None:
    userdata = tmp_path / "userdata"
    if left in ("none", "new", "old"):
        userdata.mkdir()
        (userdata / "which").write_text("living")
    if "new" in left:
        (tmp_path / "userdata.new").mkdir()
    if "old" in left:
        (tmp_path / "userdata.old").mkdir()
        (tmp_path / "userdata.old/which").write_text("living" if left != "old" else "replaced")
    recover_userdata(userdata)
    assert [path.name for path in tmp_path.iterdir()] == ["userdata"]
    assert (userdata / "which").read_text() == "living"
