"""Computes the two hashes of a system image's folder, reading every file once.

`recipe_sha256` is the contract's own recipe: exactly what a shell in LC_ALL=C prints for

    find "$IMG_DIR" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum

It hashes the names as find prints them, so an equal image in another folder has another hash.
`relocatable_sha256` is over relative names, sizes and digests, so it is equal in every folder.

Files are read in parallel, large ones first. sha256 is sequential, so one file cannot be split
among threads, and the largest file bounds the time.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import EmufarmError
from ..events.canonical import digest

_PIECE = 1 << 20  # a thread's buffer; hashlib releases the GIL while it hashes
# How sha256sum escapes a name that would break its line; such a line begins with a backslash.
_ESCAPES = ((b"\\", b"\\\\"), (b"\n", b"\\n"), (b"\r", b"\\r"))


class Unhashable(EmufarmError):
    """The folder cannot be hashed reliably; the text says why."""


@dataclass(frozen=True)
class SystemImage:
    path: str  # the folder as it was hashed: the recipe's hash depends on it
    recipe_sha256: str
    relocatable_sha256: str
    files: int
    bytes: int


class _FileState(NamedTuple):
    """What shows that a file is still the one that was listed."""

    size: int
    identity: tuple[int, ...]  # device, inode, and when content and inode changed

    @classmethod
    def of(cls, stat: os.stat_result) -> _FileState:
        identity = (stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns)
        return cls(stat.st_size, identity)


def hash_system_image(folder: str | os.PathLike[str], threads: int | None = None) -> SystemImage:
    """Raises Unhashable where the folder is relative or empty, contains anything but folders and
    readable files, or changes while it is read."""
    root = os.fsencode(folder)
    if not os.path.isabs(root):
        raise Unhashable(f"{_name(root)} must be an absolute path: the recipe's hash depends on it")
    before = dict(_list_files(root))
    if not before:
        raise Unhashable(f"{_name(root)} has no files: there is nothing to hash")
    digests = _digests(before, threads or os.cpu_count() or 1)
    if wrong := before.items() ^ dict(_list_files(root)).items():
        raise _changed(min(path for path, _ in wrong))
    prefix = len(_join(root, b""))
    recipe = hashlib.sha256()
    for path in sorted(before):
        recipe.update(_line(path, digests[path]))
    content = {
        path[prefix:].decode("utf-8", "surrogateescape"): [file.size, digests[path]]
        for path, file in before.items()
    }
    return SystemImage(
        os.fsdecode(root), recipe.hexdigest(), digest(content), len(before),
        sum(file.size for file in before.values()),
    )  # fmt: skip


def _list_files(folder: bytes) -> Iterator[tuple[bytes, _FileState]]:
    """Every file below a folder with the name that find prints."""
    try:
        if stat.S_ISLNK(os.lstat(folder).st_mode):
            raise Unhashable(f"{_name(folder)} is a symbolic link: name its target")
        for name in os.listdir(folder):
            path = _join(folder, name)
            found = os.lstat(path)
            if stat.S_ISDIR(found.st_mode):
                yield from _list_files(path)
            elif stat.S_ISREG(found.st_mode):
                yield path, _FileState.of(found)
            else:
                what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
                raise Unhashable(f"{_name(path)} is {what}: its content would not be in the hash")
    except OSError as error:
        raise Unhashable(f"cannot list {_name(folder)}: {error.strerror}") from error


def _digests(files: Mapping[bytes, _FileState], threads: int) -> dict[bytes, str]:
    largest_first = sorted(files, key=lambda path: -files[path].size)
    stop, buffers = threading.Event(), threading.local()

    def read(path: bytes) -> str:
        if not hasattr(buffers, "piece"):
            buffers.piece = memoryview(bytearray(_PIECE))
        return _sha256(path, files[path], buffers.piece, stop)

    with ThreadPoolExecutor(min(threads, len(files)), "sha256") as pool:
        try:
            return dict(zip(largest_first, pool.map(read, largest_first), strict=True))
        finally:
            stop.set()  # after a failure the other threads need not go on
            pool.shutdown(wait=False, cancel_futures=True)


def _sha256(path: bytes, listed: _FileState, piece: memoryview, stop: threading.Event) -> str:
    hashed = hashlib.sha256()
    try:
        # If it became a pipe since it was listed, opening it must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb", buffering=0) as file:
            if _FileState.of(os.fstat(descriptor)) != listed:
                raise _changed(path)
            while (count := file.readinto(piece)) and not stop.is_set():
                hashed.update(piece[:count])
    except OSError as error:
        raise Unhashable(f"cannot read {_name(path)}: {error.strerror}") from error
    return hashed.hexdigest()


def _changed(path: bytes) -> Unhashable:
    return Unhashable(f"{_name(path)} changed while the image was read: stop what writes to it")


def _join(folder: bytes, name: bytes) -> bytes:
    """Joins as find does: a folder that ends with a slash gets no second one."""
    return folder + name if folder.endswith(b"/") else folder + b"/" + name


def _line(path: bytes, sha256: str) -> bytes:
    """The line that sha256sum prints for a file."""
    name = path
    for plain, escaped in _ESCAPES:
        name = name.replace(plain, escaped)
    return (b"\\" if name != path else b"") + sha256.encode() + b"  " + name + b"\n"


def _name(path: bytes) -> str:
    """A path for messages, on one line."""
    return ascii(os.fsdecode(path)) if not path.isascii() or b"\n" in path else os.fsdecode(path)
