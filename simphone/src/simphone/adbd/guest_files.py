"""What adbd may do with the guest's files, and what it says where it may not."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..disk import Disk, Entry, failure

V1 = struct.Struct("<III")
V2 = struct.Struct("<IQQIIIIQqqq")
WORD = 0xFFFFFFFF
# The major and minor number of the guest's one data partition.
DEVICE = 0xFE30
NOTHING_V1 = bytes(V1.size)
NOTHING_V2 = bytes(V2.size)


class Failed(Exception):
    """What the host is told after FAIL; the sync session ends with it."""


def failed(what: str, error: OSError) -> Failed:
    return Failed(f"{what}: {os.strerror(error.errno or errno.EIO)}")


def pack_v1(entry: Entry) -> bytes:
    return V1.pack(entry.mode, entry.size & WORD, int(entry.mtime) & WORD)


def pack_v2(entry: Entry) -> bytes:
    time = int(entry.mtime)
    owner = (entry.uid, entry.gid)
    head = (0, DEVICE, entry.inode, entry.mode, entry.links)
    return V2.pack(*head, *owner, entry.size, time, time, time)


def stat_v1(disk: Disk, path: str, uid: int) -> bytes:
    """All zero where there is nothing to see: version 1 has no word for why."""
    try:
        return pack_v1(disk.entry(path, uid, follow=False))
    except OSError:
        return NOTHING_V1


def stat_v2(disk: Disk, path: str, uid: int, *, follow: bool) -> bytes:
    try:
        return pack_v2(disk.entry(path, uid, follow=follow))
    except OSError as error:
        return struct.pack("<I", error.errno or errno.EIO) + NOTHING_V2[4:]


def list_folder(disk: Disk, path: str, uid: int) -> Iterator[tuple[str, Entry]]:
    """Nothing at all where it is no folder or not for this user, as adbd."""
    try:
        names = disk.names(path, uid)
    except OSError:
        return
    for name in (".", "..", *names):
        try:
            yield name, disk.entry(f"{path}/{name}", uid, follow=False)
        except OSError:
            continue  # gone meanwhile, or not for this user: readdir names it, lstat fails


def open_to_read(disk: Disk, path: str, uid: int) -> BinaryIO:
    try:
        return disk.open(path, uid)
    except OSError as error:
        raise failed("open failed", error) from error


def read(file: BinaryIO, limit: int) -> bytes:
    try:
        return file.read(limit)
    except OSError as error:
        raise failed("read failed", error) from error


def create(disk: Disk, path: str, uid: int, mode: int) -> int:
    """A new file in the place of a file or link, open for writing; its folders are made."""
    # adbd gives everybody what the owner has. The owner's read bit stays, or the host could not
    # read the phone's own disk.
    bits = mode & 0o777 | stat.S_IRUSR
    bits |= bits >> 3 & 0o070
    bits |= bits >> 3 & 0o007
    host = _cleared(disk, path, uid, "couldn't create file")
    try:
        fd = os.open(host, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, bits)
        os.fchmod(fd, bits)
    except OSError as error:
        raise failed("couldn't create file", error) from error
    return fd


def discard(disk: Disk, path: str, uid: int, fd: int) -> None:
    """Remove a file that did not come whole. While it came, its folder may have become a link to
    anywhere: the path is walked again, and what is there now must still be that file."""
    try:
        host = disk.writable(path, uid, follow=False)
        if os.path.samestat(os.lstat(host), os.fstat(fd)):
            host.unlink()
    except OSError:
        return  # moved or removed meanwhile: nothing of ours is left there


def write(fd: int, data: memoryview) -> None:
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError as error:
        raise failed("write failed", error) from error


def link(disk: Disk, path: str, uid: int, target: bytes) -> Path:
    host = _cleared(disk, path, uid, "symlink failed")
    try:
        os.symlink(target, os.fsencode(host))
    except OSError as error:
        raise failed("symlink failed", error) from error
    return host


def _cleared(disk: Disk, path: str, uid: int, what: str) -> Path:
    """The host's path with its folder made and no file on it."""
    try:
        host = disk.writable(path, uid, follow=False)
        if disk.exists(path, uid) and disk.entry(path, uid, follow=False).is_dir:
            raise failure(errno.EISDIR, path)
        disk.need_room(path)
    except OSError as error:
        raise failed(what, error) from error
    try:
        host.parent.mkdir(parents=True, exist_ok=True)
        host.unlink(missing_ok=True)
    except FileExistsError as error:
        raise failed("secure_mkdirs failed", failure(errno.ENOTDIR, path)) from error
    except OSError as error:
        raise failed("secure_mkdirs failed", error) from error
    return host
