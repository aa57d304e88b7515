"""What is done to the files of the shared storage: listed, found, made, renamed, moved, removed.

Paths are guest paths; every refusal is an OSError with a reason a person can read.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..disk import failure
from ..providers import media

if TYPE_CHECKING:
    from ..world import World

PACKAGE = "com.android.documentsui"
ROOT = "/storage/emulated/0"
MOST_FOUND, MOST_SEEN, MOST_COPIED = 200, 5000, 256 << 20


@dataclass(frozen=True)
class Item:
    path: str
    name: str
    folder: bool
    size: int
    modified_s: float


def uid(world: World) -> int:
    package = world.packages.get(PACKAGE)
    return package.uid if package else 10000


def item(world: World, path: str) -> Item:
    entry = world.disk.entry(path, uid(world))
    return Item(path, path.rpartition("/")[2], entry.is_dir, entry.size, entry.mtime)


def items(world: World, folder: str) -> list[Item]:
    """What a folder holds: folders first, then by name; dot names stay hidden."""
    found = []
    for name in world.disk.names(folder, uid(world)):
        if name.startswith("."):
            continue
        try:
            found.append(item(world, f"{folder}/{name}"))
        except OSError:
            continue  # a link to where this app may not look, or one that leads nowhere
    return sorted(found, key=lambda each: (not each.folder, each.name.casefold(), each.name))


def search(world: World, folder: str, words: str) -> list[Item]:
    """Items below the folder whose names hold the words; so many, after looking at so many."""
    wanted, found = words.strip().casefold(), []
    for seen, each in enumerate(below(world, folder)):
        if wanted in each.name.casefold():
            found.append(each)
        if len(found) == MOST_FOUND or seen == MOST_SEEN:
            break
    return found


def below(world: World, folder: str) -> Iterator[Item]:
    todo = [folder]
    while todo:
        here = todo.pop(0)
        for each in items(world, here):
            yield each
            # A link may lead back up.
            if each.folder and not world.disk.entry(each.path, uid(world), follow=False).is_link:
                todo.append(each.path)


def make_folder(world: World, folder: str, name: str) -> None:
    free_place(world, folder, name).mkdir()
    media.changed(world)


def rename(world: World, path: str, name: str) -> str:
    """The new path."""
    folder = path.rpartition("/")[0]
    target = free_place(world, folder, name)
    os.rename(existing(world, path), target)
    media.changed(world)
    return f"{folder}/{name}"


def move(world: World, path: str, folder: str) -> None:
    source = existing(world, path)
    target = free_place(world, folder, path.rpartition("/")[2])
    not_into_itself(world, path, folder)
    os.rename(source, target)
    media.changed(world)


def copy(world: World, path: str, folder: str) -> None:
    """Beside a file of the same name the copy is called `name (1)`."""
    source = existing(world, path)
    not_into_itself(world, path, folder)
    if taken(source) > MOST_COPIED:
        raise failure(errno.ENOSPC, path)
    target = free_place(world, folder, free_name(world, folder, path.rpartition("/")[2]))
    if source.is_symlink() or not source.is_dir():
        shutil.copy2(source, target, follow_symlinks=False)
    else:
        shutil.copytree(source, target, symlinks=True)
    media.changed(world)


def delete(world: World, path: str) -> None:
    host = existing(world, path)
    if host.is_dir() and not host.is_symlink():
        shutil.rmtree(host)
    else:
        host.unlink()
    media.changed(world)


def existing(world: World, path: str) -> Path:
    """The host's path of something that may be changed and is there."""
    world.disk.entry(path, uid(world), follow=False)
    return world.disk.writable(path, uid(world), follow=False)


def free_place(world: World, folder: str, name: str) -> Path:
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise failure(errno.EINVAL, name)
    if not world.disk.entry(folder, uid(world)).is_dir:
        raise failure(errno.ENOTDIR, folder)
    path = f"{folder}/{name}"
    if world.disk.exists(path, uid(world)):
        raise failure(errno.EEXIST, path)
    return world.disk.writable(path, uid(world), follow=False)


def free_name(world: World, folder: str, name: str) -> str:
    stem, dot, extension = name.rpartition(".")
    stem, tail = (stem, dot + extension) if stem else (name, "")
    number, candidate = 0, name
    while world.disk.exists(f"{folder}/{candidate}", uid(world)):
        number += 1
        candidate = f"{stem} ({number}){tail}"
    return candidate


def not_into_itself(world: World, path: str, folder: str) -> None:
    inner, outer = (world.disk.canonical(each) for each in (folder, path))
    if inner == outer or inner.startswith(outer + "/"):
        raise failure(errno.EINVAL, path)


def taken(host: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    if not host.is_dir() or host.is_symlink():
        return host.lstat().st_size
    return sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, _, names in os.walk(host)
        for name in names
    )
