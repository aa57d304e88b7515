"""The guest's files: a tree under the AVD, seen through Android's paths and permissions.

A guest path never leaves the tree: it is walked component by component, symbolic links are
guest paths read by us, never by the host, and `..` stops at the root. A link on the host's disk
may hold anything, so no host path may be opened that was not walked here first.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .layout import (
    DEVICES,
    FOLDERS,
    IMAGE_MTIME,
    LINKS,
    MEDIA,
    MOUNTS,
    PRIVATE,
    SHARED,
    UNLISTABLE,
    WRITABLE,
    owner,
)

__all__ = ["MEDIA", "Disk", "Entry", "failure", "under"]

MAX_LINKS = 40
MAX_PATH = 4096
# Folders within folders: what walks a tree by recursion must come back from it.
MAX_DEPTH = 256


def failure(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)


def under(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root + "/") for root in roots)


def _nameable(path: str) -> bool:
    """Whether it stands for bytes: text that no bytes decode to names no file."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class Entry:
    """What stat(2) tells the guest."""

    path: str  # canonical
    mode: int
    size: int = 0
    mtime: float = IMAGE_MTIME
    uid: int = 0
    gid: int = 0
    inode: int = 0
    links: int = 1
    blocks: int = 0  # of 512 bytes
    target: str = ""  # of a symbolic link

    @property
    def is_dir(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)


class Disk:
    """Maps guest paths to host files. `virtual` holds /proc and /dev files made on demand."""

    def __init__(self, userdata: Path, system: Path) -> None:
        self.userdata = userdata  # guest /data and /tmp live in here
        self.system = system  # guest /system, read only
        self.virtual: dict[str, Callable[[], bytes]] = {}
        self.full = False  # nothing more can be written, until a boot or a load

    def need_room(self, path: str) -> None:
        """OSError where there is none for anything new."""
        if self.full:
            raise failure(errno.ENOSPC, path)

    def canonical(self, path: str, cwd: str = "/", *, follow: bool = True) -> str:
        """The path without mounts, dots and links (`follow=False` keeps a last link)."""
        if not path:
            raise failure(errno.ENOENT, path)
        if "\0" in path or "\0" in cwd:
            raise failure(errno.EINVAL, path)
        if len(path) >= MAX_PATH:
            raise failure(errno.ENAMETOOLONG, path)
        if not _nameable(path) or not _nameable(cwd):
            raise failure(errno.EILSEQ, path)
        # A path that ends so names what a last link leads to, never the link.
        follow = follow or path.rpartition("/")[2] in ("", ".")
        todo = [part for part in os.path.join(cwd, path).split("/") if part not in ("", ".")]
        done: list[str] = []
        links = 0
        while todo:
            part = todo.pop(0)
            if part == "..":
                done = done[:-1]
                continue
            if len(os.fsencode(part)) > 255:
                raise failure(errno.ENAMETOOLONG, path)
            done.append(part)
            if len(done) > MAX_DEPTH:
                raise failure(errno.ENAMETOOLONG, path)
            here = "/" + "/".join(done)
            target = MOUNTS.get(here) or (self._link(here) if todo or follow else None)
            if target is None:
                continue
            links += 1
            if links > MAX_LINKS or len(todo) > MAX_PATH:
                raise failure(errno.ELOOP, path)
            # Walked again from where it leads: a mount's own folders may be links by now.
            done = [] if target.startswith("/") else done[:-1]
            todo = [p for p in target.split("/") if p not in ("", ".")] + todo
        return "/" + "/".join(done)

    def _link(self, here: str) -> str | None:
        fixed = LINKS.get(here)
        if fixed is not None:
            return fixed
        try:
            return os.readlink(self._host(here))
        except OSError:
            return None  # absent, or not a link

    def _host(self, canonical: str) -> Path:
        if under(canonical, ("/system",)):
            return self.system / canonical.removeprefix("/system").lstrip("/")
        return self.userdata / canonical.lstrip("/")

    def readable(self, path: str, uid: int, cwd: str = "/", *, follow: bool = True) -> Path:
        """The host's path of a guest path that this user may look at; it may not exist."""
        return self._host(self._visible(path, uid, cwd, follow=follow))

    def _visible(self, path: str, uid: int, cwd: str, *, follow: bool) -> str:
        canonical = self.canonical(path, cwd, follow=follow)
        if uid != 0 and under(canonical, PRIVATE):
            raise failure(errno.EACCES, path)
        return canonical

    def writable(self, path: str, uid: int, cwd: str = "/", *, follow: bool = True) -> Path:
        """The host's path of a guest path that this user may change; its parent may be absent."""
        canonical = self.canonical(path, cwd, follow=follow)
        if not under(canonical, WRITABLE):
            raise failure(errno.EROFS, path)
        if uid != 0 and not under(canonical, SHARED):
            raise failure(errno.EACCES, path)
        host = self._host(canonical)
        if canonical.rpartition("/")[0] in FOLDERS:
            host.parent.mkdir(parents=True, exist_ok=True)
        return host

    def entry(self, path: str, uid: int, cwd: str = "/", *, follow: bool = True) -> Entry:
        """What a guest path names; OSError where it names nothing this user may see."""
        canonical = self.canonical(path, cwd, follow=follow)
        # A private folder's own name can be seen; what is in it cannot.
        if uid != 0 and under(canonical, PRIVATE) and canonical not in PRIVATE:
            raise failure(errno.EACCES, path)
        user, group = owner(canonical)
        inode = zlib.crc32(os.fsencode(canonical))
        if canonical in LINKS:
            target = LINKS[canonical]
            return Entry(canonical, stat.S_IFLNK | 0o777, len(target), inode=inode, target=target)
        if canonical in DEVICES:
            return Entry(canonical, stat.S_IFCHR | 0o666, inode=inode)
        if canonical in self.virtual:
            program = under(canonical, ("/system", "/vendor"))
            size = len(self.virtual[canonical]()) if program else 0
            mode = stat.S_IFREG | (0o755 if program else 0o444)
            return Entry(canonical, mode, size, inode=inode, blocks=-(-size // 512))
        host = self._host(canonical)
        try:
            seen = os.lstat(host)
        except (FileNotFoundError, NotADirectoryError) as error:
            if canonical in FOLDERS or self._holds_virtual(canonical):
                mode = stat.S_IFDIR | 0o755
                return Entry(canonical, mode, 4096, 0, user, group, inode, 2, 8)
            raise failure(error.errno or errno.ENOENT, path) from None
        return Entry(
            canonical,
            seen.st_mode,
            seen.st_size,
            seen.st_mtime,
            user,
            group,
            seen.st_ino,
            seen.st_nlink,
            seen.st_blocks,
            os.readlink(host) if stat.S_ISLNK(seen.st_mode) else "",
        )

    def exists(self, path: str, uid: int, cwd: str = "/", *, follow: bool = False) -> bool:
        try:
            self.entry(path, uid, cwd, follow=follow)
        except OSError:
            return False
        return True

    def _holds_virtual(self, canonical: str) -> bool:
        prefix = canonical.rstrip("/") + "/"
        return any(name.startswith(prefix) for name in self.virtual)

    def names(self, path: str, uid: int, cwd: str = "/") -> list[str]:
        """What a folder holds, sorted, without `.` and `..`."""
        canonical = self._visible(path, uid, cwd, follow=True)
        if not self.entry(path, uid, cwd).is_dir:
            raise failure(errno.ENOTDIR, path)
        if uid != 0 and canonical in UNLISTABLE:
            raise failure(errno.EACCES, path)
        prefix = canonical.rstrip("/") + "/"
        found = {
            known[len(prefix) :].split("/", 1)[0]
            for known in (*FOLDERS, *LINKS, *DEVICES, *MOUNTS, *self.virtual)
            if known.startswith(prefix) and known != prefix
        }
        with contextlib.suppress(FileNotFoundError):  # a folder that only the layout knows
            found.update(os.listdir(self._host(canonical)))
        return sorted(found)

    def open(self, path: str, uid: int, cwd: str = "/") -> BinaryIO:
        """A file's bytes; the caller closes it."""
        canonical = self._visible(path, uid, cwd, follow=True)
        made = self.virtual.get(canonical)
        if made is not None:
            return io.BytesIO(made())
        entry = self.entry(path, uid, cwd)
        if not entry.is_file:
            raise failure(errno.EISDIR if entry.is_dir else errno.EACCES, path)
        return self._opened(canonical, path, os.O_RDONLY, "rb")

    def create(
        self, path: str, uid: int, cwd: str = "/", *, append: bool = False, keep: bool = False
    ) -> BinaryIO:
        """A file to write to, made or emptied (`keep` leaves what is there)."""
        host = self.writable(path, uid, cwd)
        if host.is_dir():
            raise failure(errno.EISDIR, path)
        self.need_room(path)
        flags = os.O_WRONLY | os.O_CREAT
        flags |= os.O_APPEND if append else 0 if keep else os.O_TRUNC
        return self._opened(self.canonical(path, cwd), path, flags, "ab" if append else "wb")

    def _opened(self, canonical: str, path: str, flags: int, mode: str) -> BinaryIO:
        try:
            handle = os.open(self._host(canonical), flags | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise failure(error.errno or errno.EIO, path) from None
        return io.FileIO(handle, mode)

    def read(self, path: str, uid: int, cwd: str = "/") -> bytes:
        with self.open(path, uid, cwd) as opened:
            return opened.read()

    def own(self, path: str) -> Path:
        """A host path for the phone's own use (as root); its folder is made."""
        host = self._host(self.canonical(path))
        host.parent.mkdir(parents=True, exist_ok=True)
        return host

    def wipe(self) -> None:
        shutil.rmtree(self.userdata, ignore_errors=True)
        self.userdata.mkdir(parents=True)
