"""A folder tree copied with a proof: what was read is what the manifest says.

Holes stay holes, times and modes are kept, links are copied as links.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

CHUNK = 1 << 20
_ZEROS = bytes(CHUNK)

# Relative path -> (kind, mode, size, digest or link target)
Entry = tuple[str, int, int, str]
Manifest = dict[str, Entry]


class Mismatch(Exception):
    """The tree is not what its manifest says."""


def _walk(root: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every folder before what is in it; a guest can nest them deeper than Python recurses."""
    todo = [""]
    while todo:
        below = todo.pop()
        with os.scandir(root / below) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            name = f"{below}/{entry.name}" if below else entry.name
            yield name, entry
            if entry.is_dir(follow_symlinks=False):
                todo.append(name)


def _data(fd: int, at: int) -> int:
    """Where the next chunk begins that is not all hole: a file of terabytes may hold nothing."""
    try:
        return max(at, os.lseek(fd, at, os.SEEK_DATA) // CHUNK * CHUNK)
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but hole up to the end
            return os.fstat(fd).st_size
        if error.errno == errno.EINVAL:  # a file system that knows no holes
            return at
        raise


def _copy_file(source: str, target: Path) -> tuple[int, str]:
    """The size, and a digest of the chunks that are not zero, each with its place."""
    digest = hashlib.blake2b(digest_size=16)
    with open(source, "rb", buffering=0) as reader, open(target, "wb", buffering=0) as writer:
        size = os.fstat(reader.fileno()).st_size
        at = 0
        while (at := _data(reader.fileno(), at)) < size:
            chunk = os.pread(reader.fileno(), CHUNK, at)
            if not chunk:
                raise OSError(errno.EIO, os.strerror(errno.EIO), source)
            if chunk != _ZEROS[: len(chunk)]:
                digest.update(b"%d:" % at)
                digest.update(chunk)
                _write(writer.fileno(), chunk, at)
            at += len(chunk)
        writer.truncate(size)
    return size, digest.hexdigest()


def _write(fd: int, chunk: bytes, at: int) -> None:
    rest = memoryview(chunk)
    while rest:
        written = os.pwrite(fd, rest, at)
        rest, at = rest[written:], at + written


def copy_tree(source: Path, target: Path) -> Manifest:
    """Copies what there is of files, folders and links; `target` must not exist."""
    target.mkdir()
    manifest: Manifest = {}
    for name, entry in _walk(source):
        facts = entry.stat(follow_symlinks=False)
        mode = stat.S_IMODE(facts.st_mode)
        to = target / name
        if entry.is_symlink():
            link = os.readlink(entry.path)
            to.symlink_to(link)
            manifest[name] = ("link", 0, 0, link)
            continue
        if entry.is_dir(follow_symlinks=False):
            to.mkdir()
            # A folder its owner may not write to would refuse the files that follow.
            to.chmod(mode | stat.S_IRWXU)
            manifest[name] = ("dir", mode, 0, "")
        elif entry.is_file(follow_symlinks=False):
            size, digest = _copy_file(entry.path, to)
            to.chmod(mode)
            os.utime(to, ns=(facts.st_atime_ns, facts.st_mtime_ns))
            manifest[name] = ("file", mode, size, digest)
    return manifest


def copy_verified(source: Path, target: Path, expected: Manifest) -> None:
    """Copies, and raises Mismatch where the source is not what was expected."""
    seen = copy_tree(source, target)
    if seen != expected:
        changed = sorted(name for name in seen.keys() | expected.keys()
                         if seen.get(name) != expected.get(name))  # fmt: skip
        raise Mismatch(f"{len(changed)} entries differ, first {changed[0]!r}")


def remove_tree(root: Path) -> None:
    """As shutil.rmtree, however deep it is; nothing where there is none."""
    if not os.path.lexists(root):
        return
    for name, entry in reversed(list(_walk(root))):
        if entry.is_dir(follow_symlinks=False):
            os.rmdir(root / name)
        else:
            os.unlink(root / name)
    os.rmdir(root)


def manifest_from_json(rows: object) -> Manifest:
    """ValueError or TypeError where it is not a manifest."""
    if not isinstance(rows, dict):
        raise TypeError("not a manifest")
    manifest: Manifest = {}
    for name, (kind, mode, size, digest) in rows.items():
        manifest[str(name)] = (str(kind), int(mode), int(size), str(digest))
    return manifest
