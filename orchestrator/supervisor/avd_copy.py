"""Copies the golden AVD for one start of the emulator, and clears stale locks of an old copy.

The golden AVD itself is never run: a failed forced snapshot load deletes the snapshot.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from . import SupervisorError

LOCKS = ("multiinstance.lock", "hardware-qemu.ini.lock", "snapshot.lock")
_FICLONE = 0x40049409
_STEP = 16 * 1024 * 1024
_ZEROS = bytes(64 * 1024)  # copied as a hole
_NO_CLONE = {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM}

Stop = Callable[[], bool]


def check_golden(golden: Path, name: str) -> None:
    """Require both parts of the AVD before anything is started."""
    for path in (golden / f"{name}.ini", golden / f"{name}.avd" / "config.ini"):
        if not path.is_file():
            raise SupervisorError(f"the golden AVD {name!r} has no {path.name} at {path}")


def fresh_copy(golden: Path, home: Path, name: str, stop: Stop = lambda: False) -> Path:
    """Replace the copy in `home` by a new one of the golden AVD, and return its absolute path.

    A stop between two pieces raises, so that a copy of many gigabytes does not delay SIGTERM.
    """
    check_golden(golden, name)
    copy = home.resolve() / f"{name}.avd"
    if copy == (golden / f"{name}.avd").resolve():
        raise SupervisorError(f"the AVD home {home} is the golden folder itself; name another one")
    try:
        clear_stale_locks(copy)
        home.mkdir(parents=True, exist_ok=True)
        if copy.exists():
            shutil.rmtree(copy)
        _copy_tree(golden / f"{name}.avd", copy, stop)
        ini = (golden / f"{name}.ini").read_text(encoding="utf-8")
        (home / f"{name}.ini").write_text(_ini_for(ini, copy), encoding="utf-8")
    except OSError as error:
        raise SupervisorError(f"cannot copy the golden AVD {name!r} to {copy}: {error}") from error
    return copy


def snapshot_sha256(avd: Path, tag: str, stop: Stop = lambda: False) -> str:
    """The digest of a snapshot's files, equal to the one in the image's lock.

    It leaves out snapshot.pb, which changes with every load.
    """
    folder, files = avd / "snapshots" / tag, dict[str, str]()
    for place, _, names in os.walk(folder, onerror=_raise):
        for path in (Path(place, name) for name in names):
            name = path.relative_to(folder).as_posix()
            if name != "snapshot.pb":
                files[name] = _content(path, stop)
    listed = json.dumps(files, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(listed.encode("utf-8", "surrogatepass")).hexdigest()


def _content(path: Path, stop: Stop) -> str:
    if path.is_symlink():
        return f"-> {os.readlink(path)}"
    content = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_STEP):
            if stop():
                raise SupervisorError("stopped while hashing the snapshot")
            content.update(piece)
    return content.hexdigest()


def _raise(error: OSError) -> None:
    raise error


def _ini_for(text: str, copy: Path) -> str:
    # path.rel is left out: it would take precedence over path= once the folder moves.
    kept = [line for line in text.splitlines() if not line.startswith(("path=", "path.rel="))]
    return "\n".join([*kept, f"path={copy}"]) + "\n"


def clear_stale_locks(avd: Path) -> list[Path]:
    """Remove locks that no live process holds; SupervisorError names the holder of a live one."""
    cleared = []
    for lock in (avd / name for name in LOCKS):
        if not os.path.lexists(lock):
            continue
        pid = _pid_in(lock)
        if pid is not None and _may_hold(pid, lock):
            raise SupervisorError(f"the AVD {avd} is in use: process {pid} holds {lock.name}")
        if lock.is_dir() and not lock.is_symlink():
            shutil.rmtree(lock)
        else:
            lock.unlink()
        cleared.append(lock)
    return cleared


def _pid_in(lock: Path) -> int | None:
    # Some emulator builds make the lock a folder with the pid in a file of that name.
    path = lock / "pid" if lock.is_dir() else lock
    try:
        text = path.read_bytes()[:64].decode("ascii", "replace").strip().strip("\0")
    except OSError:
        return None
    return int(text) if text.isdecimal() and int(text) > 0 else None


def _may_hold(pid: int, lock: Path) -> bool:
    """Whether the process lives and is old enough to have written the lock.

    In a restarted container small process numbers are used again at once.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = next(
            line for line in Path("/proc/stat").read_text().splitlines() if line[:6] == "btime "
        )
    except OSError:
        return False
    if fields[0] in "ZX" or pid == os.getpid():
        return False
    started = int(boot.split()[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return started <= lock.lstat().st_mtime + 2


def _copy_tree(source: Path, target: Path, stop: Stop) -> None:
    target.mkdir()
    for entry in sorted(os.scandir(source), key=lambda found: found.name):
        here, there = Path(entry.path), target / entry.name
        if entry.name in LOCKS:
            continue
        if entry.is_symlink():
            there.symlink_to(os.readlink(here))
        elif entry.is_dir():
            _copy_tree(here, there, stop)
        elif stat.S_ISREG(entry.stat().st_mode):
            copy_file(here, there, stop)
        # Sockets and pipes were left by a running emulator and are no part of the AVD.
    shutil.copystat(source, target)
    target.chmod(target.stat().st_mode | stat.S_IRWXU)


def copy_file(source: Path, target: Path, stop: Stop = lambda: False) -> None:
    """Copy by reflink if the filesystem can; otherwise copy all that is not zero. Holes stay holes,
    also those that an engine filled with zeros when it committed the AVD."""
    with source.open("rb") as old, target.open("wb") as new:
        if not _clone(old.fileno(), new.fileno()):
            _copy_extents(old.fileno(), new.fileno(), stop)
    shutil.copystat(source, target)
    # A golden AVD in a read-only layer may be read-only itself; the emulator writes its copy.
    target.chmod(target.stat().st_mode | stat.S_IRUSR | stat.S_IWUSR)


def _clone(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno not in _NO_CLONE:
            raise
        return False
    return True


def _copy_extents(source: int, target: int, stop: Stop) -> None:
    size = os.fstat(source).st_size
    os.ftruncate(target, size)
    end = 0
    while end < size:
        try:
            start = os.lseek(source, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:  # no data after `end`: the rest is one hole
                raise
            return
        end = os.lseek(source, start, os.SEEK_HOLE)
        while start < end:
            if stop():
                raise SupervisorError("stopped while copying the golden AVD")
            piece = os.pread(source, min(len(_ZEROS), end - start), start)
            if not piece:
                raise SupervisorError("the golden AVD shrank while it was copied")
            start += len(piece) if _ZEROS.startswith(piece) else os.pwrite(target, piece, start)
