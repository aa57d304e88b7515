"""Packs a bundle as one .tar.zst with exactly one valid encoding, and unpacks uploads safely.

Uploads are untrusted. The manifest comes first and says what follows: every header must be byte for
byte the one that pack writes for the manifest's next file, so links, devices, sparse files,
long-name tricks and modes never reach the disk. What a manifest announces is held against the
limits before more is read, and all of the archive is read and found right before anything of it is
written. An archive holds files only: an empty folder is not transferred.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tarfile
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TypeVar

import zstandard

from ..errors import EmufarmError
from ..files import sync_folder
from . import attempt, manifest
from .manifest import SealedFile

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
    bytes: int = 2 << 30  # of all files, decompressed
    depth: int = 8
    path_bytes: int = 200


@dataclass(frozen=True)
class ArchiveContents:
    """What an archive holds, each file as its manifest says."""

    digest: str  # the manifest's own
    size: int  # bytes of all files, the manifest included
    attempt: bytes | None  # attempt.json; None where there is none, or one too long


def pack(folder: Path, target: Path) -> None:
    """Pack a sealed folder; the same files always give the same bytes."""
    found = dict(manifest.entries(folder))
    if manifest.NAME not in found:
        raise BadArchive(f"{folder} has no {manifest.NAME} and cannot be packed")
    compressor = zstandard.ZstdCompressor(level=LEVEL)
    with target.open("wb") as file, compressor.stream_writer(file, closefd=False) as out:
        for path in (manifest.NAME, *(path for path in found if path != manifest.NAME)):
            status = found[path]
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
    accept: Callable[[ArchiveContents], T],
    limits: ArchiveLimits = ArchiveLimits(),  # noqa: B008 - frozen
    within: Path | None = None,
) -> T:
    """Verify, unpack and sync the bundle as the folder `target`; BadArchive leaves nothing behind.

    The source is read twice: a first time to check all of it, and only then to write it. `accept`
    gets what was found in between; an exception that it raises rejects the bundle, of which nothing
    was written by then. It is unpacked `within` a folder on the same disk, by default beside its
    target.
    """
    accepted = accept(_read(source, limits, None))
    unfinished = (within or target.parent) / f".{target.name}.{uuid.uuid4().hex}.part"
    unfinished.mkdir(parents=True)
    try:
        _read(source, limits, unfinished)
        _sync(unfinished, [path for path, _ in manifest.entries(unfinished)])
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


class _Stream:
    """Reads exact numbers of decompressed bytes."""

    def __init__(self, source: IO[bytes]) -> None:
        decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_LIMIT)
        self._reader = decompressor.stream_reader(source, read_across_frames=True, closefd=False)

    def read(self, count: int) -> bytes:
        pieces = []
        while count:
            piece = self._read(count)
            if not piece:
                raise BadArchive("the archive ends early")
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def pieces(self, size: int) -> Iterator[bytes]:
        """A file's content and, not given, the zeros after it."""
        for start in range(0, size, _CHUNK):
            yield self.read(min(_CHUNK, size - start))
        if any(self.read(-size % _BLOCK)):
            raise BadArchive("a file is not padded with zeros")

    def at_end(self) -> bool:
        return not self._read(1)

    def _read(self, count: int) -> bytes:
        try:
            return self._reader.read(count)
        except zstandard.ZstdError as error:
            raise BadArchive(f"not a zstd stream: {error}") from error


def _read(source: IO[bytes], limits: ArchiveLimits, folder: Path | None) -> ArchiveContents:
    """Check all of the archive, and write every file below the folder, where there is one."""
    source.seek(0)
    stream = _Stream(source)
    sealed = _first(stream)
    files = _announced(sealed, limits)
    if folder is not None:
        (folder / manifest.NAME).write_bytes(sealed)
    record = None
    for file in files:
        if stream.read(_BLOCK) != _header(file.path, file.size):
            raise _unsealed(file.path, "does not follow as a plain file of the sealed size")
        sha256 = hashlib.sha256()
        if file.path == attempt.NAME and file.size <= attempt.SIZE_LIMIT:
            record = b""
        with ExitStack() as opened:
            out = None if folder is None else opened.enter_context(_new(folder / file.path))
            for piece in stream.pieces(file.size):
                sha256.update(piece)
                if out is not None:
                    out.write(piece)
                if record is not None and file.path == attempt.NAME:
                    record += piece
        if sha256.hexdigest() != file.sha256:
            raise _unsealed(file.path, "is not what was sealed")
    if stream.read(len(_END)) != _END or not stream.at_end():
        raise BadArchive("there is more in the archive than its manifest names")
    size = len(sealed) + sum(file.size for file in files)
    return ArchiveContents(hashlib.sha256(sealed).hexdigest(), size, record)


def _new(path: Path) -> IO[bytes]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("xb")


def _first(stream: _Stream) -> bytes:
    """The manifest's bytes, with which an archive begins."""
    block = stream.read(_BLOCK)
    digits = block[124:135]
    size = int(digits, 8) if re.fullmatch(rb"[0-7]{11}", digits) else 0
    if block != _header(manifest.NAME, size):
        raise BadArchive(f"the archive does not begin with {manifest.NAME}")
    if size > manifest.SIZE_LIMIT:
        raise BadArchive(f"{manifest.NAME} is longer than {manifest.SIZE_LIMIT} bytes")
    return b"".join(stream.pieces(size))


def _announced(sealed: bytes, limits: ArchiveLimits) -> list[SealedFile]:
    """The files that the manifest names, none of which is read yet: within the limits, and each a
    safe place below a folder."""
    try:
        files = manifest.parse(sealed).files
    except ValueError as error:
        raise BadArchive(f"{manifest.NAME}: {manifest.reason(error)}") from error
    if len(files) >= limits.files:
        raise BadArchive(f"the bundle holds more than {limits.files} files")
    if len(sealed) + sum(file.size for file in files) > limits.bytes:
        raise BadArchive(f"the bundle is larger than the limit of {limits.bytes} bytes")
    paths = {manifest.NAME, *(file.path for file in files)}
    if len(paths) <= len(files):
        raise BadArchive(f"{manifest.NAME} names itself")
    for path in paths:
        parts = path.split("/")
        if any(part in ("", ".", "..") or not part.isprintable() for part in parts):
            raise BadArchive(f"{path[:80]!r} is not a safe relative path")
        if len(parts) > limits.depth or len(path.encode()) > limits.path_bytes:
            raise BadArchive(f"{path[:80]!r} is too deep or too long")
        if any("/".join(parts[:count]) in paths for count in range(1, len(parts))):
            raise BadArchive(f"{path!r} is below another file of the bundle")
    return files


def _unsealed(path: str, problem: str) -> BadArchive:
    return BadArchive(f"the bundle does not match its manifest: {path}: {problem}")


def _header(path: str, size: int) -> bytes:
    entry = tarfile.TarInfo(path)
    entry.size = size
    entry.mode = 0o644
    try:
        return entry.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    except ValueError as error:
        raise BadArchive(f"{path!r} cannot be stored in an archive: {error}") from error


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
