"""The private copy of the golden AVD, and its locks."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.files import tree_sha256
from orchestrator.supervisor import SupervisorError
from orchestrator.supervisor.avd_copy import (
    clear_stale_locks,
    copy_file,
    fresh_copy,
    snapshot_sha256,
)


def test_holes_stay_holes(tmp_path: Path) -> None:
    """A sparse image keeps its size and its blocks, data in the middle and at the end included."""
    image = tmp_path / "userdata.img"
    with image.open("wb") as file:
        file.truncate(64 * 1024 * 1024)
        file.seek(20 * 1024 * 1024)
        file.write(b"middle" * 1000)
        file.seek(40 * 1024 * 1024)
        file.write(b"end")
    copy_file(image, tmp_path / "copy.img")
    old, new = image.stat(), (tmp_path / "copy.img").stat()
    assert new.st_size == old.st_size
    assert new.st_blocks <= old.st_blocks + 16
    assert (tmp_path / "copy.img").read_bytes() == image.read_bytes()


def test_holes_that_were_filled_are_holes_again(tmp_path: Path) -> None:
    """As an engine leaves them that committed the AVD into an image."""
    image, copy = tmp_path / "userdata.img", tmp_path / "copy.img"
    image.write_bytes(bytes(8 << 20) + b"middle" + bytes(8 << 20) + b"end")
    copy_file(image, copy)
    assert copy.read_bytes() == image.read_bytes()
    assert copy.stat().st_blocks * 512 <= 1 << 20


def test_a_copy_stands_alone(golden: Path, tmp_path: Path) -> None:
    """The ini names the copy, locks are left behind, read-only files become writable, and the
    next copy forgets whatever the last one became."""
    (golden / "multiinstance.lock").write_text(str(os.getppid()))
    (golden / "disk.img").write_bytes(b"disk")
    (golden / "disk.img").chmod(0o444)
    (golden / "snapshots" / "clean").mkdir(parents=True)
    (golden / "snapshots" / "clean" / "ram.bin").write_bytes(b"ram")
    (golden / "link").symlink_to("disk.img")
    home = tmp_path / "home"
    copy = fresh_copy(tmp_path / "golden", home, "phone")
    assert copy == home / "phone.avd"
    assert f"path={copy}" in (home / "phone.ini").read_text().splitlines()
    assert "path.rel" not in (home / "phone.ini").read_text()
    assert "target=android-34" in (home / "phone.ini").read_text()
    assert not (copy / "multiinstance.lock").exists()
    assert (copy / "disk.img").stat().st_mode & stat.S_IWUSR
    assert (copy / "snapshots" / "clean" / "ram.bin").read_bytes() == b"ram"
    assert os.readlink(copy / "link") == "disk.img"
    (copy / "dirt").touch()
    fresh_copy(tmp_path / "golden", home, "phone")
    assert not (copy / "dirt").exists()


def test_a_lock_of_a_dead_process_is_cleared(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / "multiinstance.lock").write_text(str(dead.pid))
    (tmp_path / "snapshot.lock").write_text("")
    (tmp_path / "hardware-qemu.ini.lock").mkdir()
    (tmp_path / "hardware-qemu.ini.lock" / "pid").write_text(f"{dead.pid}\n")
    assert len(clear_stale_locks(tmp_path)) == 3
    assert list(tmp_path.iterdir()) == []


def test_a_lock_of_a_live_process_is_respected(tmp_path: Path) -> None:
    lock = tmp_path / "hardware-qemu.ini.lock"
    lock.write_text(str(os.getppid()))
    with pytest.raises(SupervisorError, match=f"process {os.getppid()} holds"):
        clear_stale_locks(tmp_path)
    assert lock.exists()


def test_a_lock_older_than_the_process_of_its_number_is_stale(tmp_path: Path) -> None:
    """Pid numbers come round again: a process cannot hold a lock from before its own start."""
    lock = tmp_path / "multiinstance.lock"
    lock.write_text(str(os.getppid()))
    os.utime(lock, (1, 1))
    assert clear_stale_locks(tmp_path) == [lock]


@pytest.mark.parametrize("gone", ["phone.ini", "phone.avd/config.ini"])
def test_half_an_avd_is_refused(golden: Path, tmp_path: Path, gone: str) -> None:
    (tmp_path / "golden" / gone).unlink()
    with pytest.raises(SupervisorError, match=r"the golden AVD 'phone' has no"):
        fresh_copy(tmp_path / "golden", tmp_path / "home", "phone")


def test_the_golden_folder_is_no_home(golden: Path, tmp_path: Path) -> None:
    with pytest.raises(SupervisorError, match="golden folder itself"):
        fresh_copy(tmp_path / "golden", tmp_path / "golden", "phone")
    assert golden.exists()


def test_a_stop_ends_a_long_copy(golden: Path, tmp_path: Path) -> None:
    (golden / "disk.img").write_bytes(b"x" * 100_000)
    with pytest.raises(SupervisorError, match="stopped while copying"):
        fresh_copy(tmp_path / "golden", tmp_path / "home", "phone", stop=lambda: True)


def test_a_snapshots_digest_is_the_one_that_a_lock_has(golden: Path) -> None:
    """Every name and byte but snapshot.pb's, which changes with every load."""
    snapshot = golden / "snapshots" / "clean"
    (snapshot / "textures").mkdir(parents=True)
    (snapshot / "ram.bin").write_bytes(b"ram")
    (snapshot / "textures" / "zoë 1").write_bytes(b"")
    (snapshot / "link").symlink_to("ram.bin")
    (snapshot / "snapshot.pb").write_bytes(b"1")
    told = snapshot_sha256(golden, "clean")
    assert told == tree_sha256(snapshot, lambda name: name != "snapshot.pb")
    (snapshot / "snapshot.pb").write_bytes(b"2")
    assert snapshot_sha256(golden, "clean") == told
    (snapshot / "ram.bin").write_bytes(b"RAM")
    assert snapshot_sha256(golden, "clean") != told


def test_a_snapshot_that_is_not_there_has_no_digest(golden: Path) -> None:
    with pytest.raises(FileNotFoundError):
        snapshot_sha256(golden, "none")
