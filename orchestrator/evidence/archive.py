"""Packs a bundle as one .tar.zst with exactly one valid encoding, and unpacks uploads safely.

Uploads are untrusted. A header must be byte for byte the one that pack writes for that path and
size, so links, devices, sparse files, long-name tricks and modes never reach the disk. Paths must
strictly increase, so that none occurs twice. Every limit is checked before the bytes that it
limits are read. An archive holds files only: an empty folder is not transferred.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tarfile
import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TypeVar

import zstandard

from ..errors import EmufarmError
from ..files import sync_folder
from . import manifest

LEVEL = 3  # most bytes are PNG, which no level compresses further
_BLOCK = 512
_CHUNK = 1 << 18
_SYNC_BATCH = 32  # files that each unpacking thread holds open at once
_END = bytes(2 * _BLOCK)
_WINDOW_LIMIT = 8 << 20  # limits the decoder's memory, whatever window the frame requests
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{32}\.part")  # as `unpack` names it

T = TypeVar("T")


class BadArchive(EmufarmError):
    """The upload is not a bundle as pack writes it; nothing of it is kept."""


@dataclass(frozen=True)
class ArchiveLimits:
    files: int = 20_000
    bytes: int = 4 << 30  # decompressed, headers included
    depth: int = 8
    path_bytes: int = 200


def pack(folder: Path, target: Path) -> None:
    """Pack a folder; the same files always give the same bytes."""
    compressor = zstandard.ZstdCompressor(level=LEVEL)
    with target.open("wb") as file, compressor.stream_writer(file, closefd=False) as out:
        for path, status in manifest.entries(folder):
            if not stat.S_ISREG(status.st_mode):
                raise BadArchive(f"{folder / path} is not a plain file and cannot be packed")
            out.write(_header(path, status.st_size))
            with (folder / path).open("rb") as source:
                shutil.copyfileobj(source, out, _CHUNK)
                if source.tell() != status.st_size:
                    raise BadArchive(f"{folder / path} changed while it was being packed")
            out.write(bytes(-status.st_size % _BLOCK))
        out.write(_END)


def unpack(
    source: IO[bytes],
    target: Path,
    accept: Callable[[Path], T],
    limits: ArchiveLimits = ArchiveLimits(),  # noqa: B008 - frozen
    within: Path | None = None,
) -> T:
    """Unpack, verify and sync the bundle as the folder `target`; BadArchive leaves nothing behind.

    It is unpacked `within` a folder on the same disk, by default beside its target. `accept` gets
    the verified folder before it is renamed to `target`; an exception that it raises rejects the
    bundle.
    """
    unfinished = (within or target.parent) / f".{target.name}.{uuid.uuid4().hex}.part"
    unfinished.mkdir(parents=True)
    try:
        found = _extract(source, unfinished, limits)
        problems = manifest.compare(unfinished, found)
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            raise BadArchive(f"the bundle does not match its manifest: {problems[0]}{more}")
        accepted = accept(unfinished)
        _sync(unfinished, found)
        if target.exists():
            raise FileExistsError(f"{target} already exists")
        unfinished.rename(target)
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(unfinished)
        raise
    sync_folder(target.parent)
    return accepted


def remove_unfinished(folder: Path) -> None:
    """What a process that was killed left of `unpack` in this folder, where nobody else unpacks
    now."""
    for left in folder.glob(".*.part"):
        if _UNFINISHED.fullmatch(left.name):
            shutil.rmtree(left)


class _Bounded:
    """Reads exact numbers of decompressed bytes, and none beyond the limit."""

    def __init__(self, source: IO[bytes], limit: int) -> None:
        decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_LIMIT)
        self._reader = decompressor.stream_reader(source, read_across_frames=True)
        self._limit = limit

    def read(self, count: int) -> bytes:
        if count > self._limit:
            raise BadArchive("the bundle is larger than the limit")
        self._limit -= count
        pieces = []
        while count:
            piece = self._read(count)
            if not piece:
                raise BadArchive("the archive ends early")
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def at_end(self) -> bool:
        return not self._read(1)

    def _read(self, count: int) -> bytes:
        try:
            return self._reader.read(count)
        except zstandard.ZstdError as error:
            raise BadArchive(f"not a zstd stream: {error}") from error


def _extract(source: IO[bytes], folder: Path, limits: ArchiveLimits) -> dict[str, manifest.Content]:
    """Write every file below the folder; size and sha256 of each."""
    stream = _Bounded(source, limits.bytes)
    found: dict[str, manifest.Content] = {}
    last = ""
    while (block := stream.read(_BLOCK)) != bytes(_BLOCK):
        path, size = _entry(block, limits)
        if path <= last:
            raise BadArchive(f"{path!r} occurs twice or out of order")
        last = path
        if len(found) >= limits.files:
            raise BadArchive(f"the bundle holds more than {limits.files} files")
        if size > limits.bytes:
            raise BadArchive("the bundle is larger than the limit")
        hasher = hashlib.sha256()
        try:
            if "/" in path:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with (folder / path).open("xb") as out:
                for start in range(0, size, _CHUNK):
                    piece = stream.read(min(_CHUNK, size - start))
                    hasher.update(piece)
                    out.write(piece)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise BadArchive(f"{path!r} is both a file and a folder") from error
        if any(stream.read(-size % _BLOCK)):
            raise BadArchive(f"{path!r} is not padded with zeros")
        found[path] = (size, hasher.hexdigest())
    if stream.read(_BLOCK) != bytes(_BLOCK) or not stream.at_end():
        raise BadArchive("there are bytes after the end of the archive")
    return found


def _header(path: str, size: int) -> bytes:
    entry = tarfile.TarInfo(path)
    entry.size = size
    entry.mode = 0o644
    try:
        return entry.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    except ValueError as error:
        raise BadArchive(f"{path!r} cannot be stored in an archive: {error}") from error


def _entry(block: bytes, limits: ArchiveLimits) -> tuple[str, int]:
    """Path and size from a header, which must be the one that pack writes for them."""
    try:
        name, prefix = (field.rstrip(b"\0").decode() for field in (block[:100], block[345:500]))
        size = int(block[124:135], 8)
    except ValueError as error:
        raise BadArchive(f"not a header: {error}") from error
    path = f"{prefix}/{name}" if prefix else name
    parts = path.split("/")
    if len(parts) > limits.depth or len(path.encode()) > limits.path_bytes:
        raise BadArchive(f"{path[:80]!r} is too deep or too long")
    if any(part in ("", ".", "..") or not part.isprintable() for part in parts):
        raise BadArchive(f"{path!r} is not a safe relative path")
    if _header(path, size) != block:
        raise BadArchive(f"{path!r} is not a plain file with the header that pack writes")
    return path, size


def _sync(folder: Path, files: Collection[str]) -> None:
    """Sync these files below the folder, and the folders that contain them.

    Write-back is started for a whole batch first, so that the files are written side by side.
    """
    folders = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    paths = [*files, *folders]
    for start in range(0, len(paths), _SYNC_BATCH):
        descriptors = []
        try:
            for path in paths[start : start + _SYNC_BATCH]:
                descriptors.append(os.open(folder / path, os.O_RDONLY | os.O_NOFOLLOW))
                os.posix_fadvise(descriptors[-1], 0, 0, os.POSIX_FADV_DONTNEED)
            for descriptor in descriptors:
                os.fsync(descriptor)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
