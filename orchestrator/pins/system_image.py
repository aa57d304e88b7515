"""Which system image is this? Two hashes of its folder, from one reading of every file.

`recipe_sha256` is the contract's own recipe, to the byte what a shell in LC_ALL=C prints for

    find "$IMG_DIR" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum

It hashes the names as find prints them, so an equal image in another folder has another hash.
`relocatable_sha256` is over relative names, sizes and digests: equal wherever the image stands.

Files are read in parallel, the large ones first. One file cannot be split among threads: sha256 is
a chain, so the largest file bounds the time.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ..errors import EmufarmError
from ..events.canonical import digest

_PIECE = 1 << 20  # a thread's buffer; hashlib lets other threads run meanwhile
# How sha256sum spells a name that would break its line; such a line begins with a backslash.
_ESCAPES = ((b"\\", b"\\\\"), (b"\n", b"\\n"), (b"\r", b"\\r"))


class Unhashable(EmufarmError):
    """The folder has no hash that means anything: one sentence says why."""


@dataclass(frozen=True)
class SystemImage:
    path: str  # the folder as it was hashed: the recipe's hash depends on it
    recipe_sha256: str
    relocatable_sha256: str
    files: int
    bytes: int


@dataclass(frozen=True)
class _FileState:
    """What tells that a file is still the one that was listed."""

    device: int
    inode: int
    size: int
    changed_ns: tuple[int, int]  # its content, its inode

    @classmethod
    def of(cls, told: os.stat_result) -> _FileState:
        changed = (told.st_mtime_ns, told.st_ctime_ns)
        return cls(told.st_dev, told.st_ino, told.st_size, changed)


def hash_system_image(folder: str | os.PathLike[str], threads: int | None = None) -> SystemImage:
    """Unhashable where the folder is not absolute, is empty, holds anything but folders and
    readable files, or changes meanwhile."""
    root = os.fsencode(folder)
    if not os.path.isabs(root):
        raise Unhashable(f"{_name(root)} must be an absolute path: the recipe's hash depends on it")
    before = dict(_listed(root))
    if not before:
        raise Unhashable(f"{_name(root)} holds no files: there is nothing to hash")
    digests = _digests(before, threads or os.cpu_count() or 1)
    _require_equal(before, dict(_listed(root)))
    prefix = len(_below(root, b""))
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


def _listed(folder: bytes) -> Iterator[tuple[bytes, _FileState]]:
    """Every file below a folder by the name that find prints."""
    try:
        if stat.S_ISLNK(os.lstat(folder).st_mode):
            raise Unhashable(f"{_name(folder)} is a symbolic link: name the folder it leads to")
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
        for name in names:
            path = _below(folder, name)
            told = os.lstat(path)
            if stat.S_ISDIR(told.st_mode):
                yield from _listed(path)
            elif stat.S_ISREG(told.st_mode):
                yield path, _FileState.of(told)
            else:
                what = "a symbolic link" if stat.S_ISLNK(told.st_mode) else "no plain file"
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
            stop.set()  # after the first failure nobody needs the rest
            pool.shutdown(wait=False, cancel_futures=True)


def _sha256(path: bytes, listed: _FileState, piece: memoryview, stop: threading.Event) -> str:
    hashed = hashlib.sha256()
    try:
        # Should it have become a pipe since it was listed, opening it must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb", buffering=0) as file:
            if _FileState.of(os.fstat(descriptor)) != listed:
                raise _changed(path)
            while (count := file.readinto(piece)) and not stop.is_set():
                hashed.update(piece[:count])
    except OSError as error:
        raise Unhashable(f"cannot read {_name(path)}: {error.strerror}") from error
    return hashed.hexdigest()


def _require_equal(before: Mapping[bytes, _FileState], after: Mapping[bytes, _FileState]) -> None:
    """Listed again after the reading: whatever changed, came or went meanwhile shows."""
    wrong = set(before.items()) ^ set(after.items())
    if wrong:
        raise _changed(min(path for path, _ in wrong))


def _changed(path: bytes) -> Unhashable:
    return Unhashable(f"{_name(path)} changed while the image was read: hash it at rest")


def _below(folder: bytes, name: bytes) -> bytes:
    """As find joins them: a folder that was given with its slash gets no second one."""
    return folder + name if folder.endswith(b"/") else folder + b"/" + name


def _line(path: bytes, sha256: str) -> bytes:
    """What sha256sum prints for a file."""
    name = path
    for plain, escaped in _ESCAPES:
        name = name.replace(plain, escaped)
    return (b"\\" if name != path else b"") + sha256.encode() + b"  " + name + b"\n"


def _name(path: bytes) -> str:
    """For a sentence, in one line."""
    return ascii(os.fsdecode(path)) if not path.isascii() or b"\n" in path else os.fsdecode(path)
