"""A folder tree copied with a proof: what was read is what the manifest says.

Holes stay holes, times and modes are kept, links are copied as links.
"""

from __future__ import annotations

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


def _walk(root: Path, below: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(root / below) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        name = f"{below}/{entry.name}" if below else entry.name
        yield name, entry
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(root, name)


def _copy_file(source: str, target: Path) -> tuple[int, str]:
    digest = hashlib.blake2b(digest_size=16)
    size = 0
    with open(source, "rb", buffering=0) as reader, open(target, "wb", buffering=0) as writer:
        while chunk := reader.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if chunk == _ZEROS[: len(chunk)]:
                writer.seek(len(chunk), os.SEEK_CUR)
                continue
            rest = memoryview(chunk)
            while rest:
                rest = rest[writer.write(rest) :]
        writer.truncate(size)
    return size, digest.hexdigest()


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


def manifest_from_json(rows: object) -> Manifest:
    """ValueError or TypeError where it is not a manifest."""
    if not isinstance(rows, dict):
        raise TypeError("not a manifest")
    manifest: Manifest = {}
    for name, (kind, mode, size, digest) in rows.items():
        manifest[str(name)] = (str(kind), int(mode), int(size), str(digest))
    return manifest
