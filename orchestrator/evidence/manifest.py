"""Seals a bundle with MANIFEST.json (size and sha256 of every file) and verifies the seal.

The manifest's own digest is in the journal, so the journal's hash chain covers every byte.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from ..errors import EmufarmError
from ..events.canonical import canonical
from ..files import write_atomically

NAME = "MANIFEST.json"
SCHEMA = 1
SIZE_LIMIT = 8 << 20

Content = tuple[int, str] | None  # size and sha256; None: not a plain file


class NotSealable(EmufarmError):
    """The folder holds something that no bundle may hold: a link, a device, a socket."""


class SealedFile(BaseModel, extra="forbid", frozen=True, strict=True):
    path: str
    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Manifest(BaseModel, extra="forbid", frozen=True, strict=True):
    schema_version: int = Field(ge=SCHEMA, le=SCHEMA)
    files: list[SealedFile]


def seal(folder: Path) -> str:
    """Write the manifest of every file in the folder; the manifest's digest.

    Only the manifest is synced: `verify` then reports a file that a power cut lost.
    """
    files = []
    for path, status in entries(folder):
        if not stat.S_ISREG(status.st_mode):
            raise NotSealable(f"{folder / path} is not a plain file and cannot be sealed")
        if path != NAME:
            size, sha256 = _measure(folder / path)
            files.append({"path": path, "size": size, "sha256": sha256})
    data = canonical({"schema_version": SCHEMA, "files": files}) + b"\n"
    write_atomically(folder / NAME, [data])
    return hashlib.sha256(data).hexdigest()


def digest(folder: Path) -> str:
    """sha256 of MANIFEST.json's bytes."""
    return hashlib.sha256((folder / NAME).read_bytes()).hexdigest()


def bundle_bytes(folder: Path) -> int:
    """Of all files of a bundle that matches its manifest, the manifest included."""
    return (folder / NAME).stat().st_size + sum(file.size for file in _read(folder).files)


def sealed(folder: Path) -> bool:
    return (folder / NAME).is_file()


def verify(folder: Path) -> list[str]:
    """The problems of a sealed bundle, one sentence each; none if it is as it was sealed."""
    problems = []
    found: dict[str, Content] = {}
    for path, status in entries(folder):
        if stat.S_ISREG(status.st_mode):
            found[path] = _measure(folder / path)
        else:
            kind = "a link" if stat.S_ISLNK(status.st_mode) else "not a plain file"
            problems.append(f"{path}: is {kind}")
            found[path] = None
    return sorted(problems + compare(folder, found))


def compare(folder: Path, found: Mapping[str, Content]) -> list[str]:
    """The differences between the files that were found below the folder and its manifest."""
    try:
        named = {file.path: (file.size, file.sha256) for file in _read(folder).files}
    except (OSError, ValueError) as error:
        return [f"{NAME}: {reason(error)}"]
    problems = []
    for path, measure in found.items():
        if path == NAME or measure is None:
            continue
        if path not in named:
            problems.append(f"{path}: is not in the manifest")
        elif measure != named[path]:
            problems.append(f"{path}: is not what was sealed")
    return sorted(problems + [f"{path}: is missing" for path in named if path not in found])


def entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Everything below the folder except folders, sorted by path; links are not followed."""
    found = []
    for at, folders, files in os.walk(folder):
        here = Path(at)
        for name in files + [name for name in folders if (here / name).is_symlink()]:
            path = here / name
            found.append((path.relative_to(folder).as_posix(), path.lstat()))
    yield from sorted(found, key=lambda entry: entry[0])


def _read(folder: Path) -> Manifest:
    path = folder / NAME
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > SIZE_LIMIT:
        raise ValueError(f"not a plain file of at most {SIZE_LIMIT} bytes")
    return parse(path.read_bytes())


def parse(data: bytes) -> Manifest:
    """ValueError where these bytes are no manifest as `seal` writes it."""
    manifest = Manifest.model_validate_json(data)
    paths = [file.path for file in manifest.files]
    if paths != sorted(set(paths)) or canonical(manifest.model_dump()) + b"\n" != data:
        raise ValueError("not canonical JSON with sorted paths")
    return manifest


def _measure(path: Path) -> tuple[int, str]:
    """Size and sha256."""
    with path.open("rb", buffering=0) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), sha256


def reason(error: OSError | ValueError) -> str:
    """Why a manifest cannot be read, in a few words."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"not a manifest: {'.'.join(map(str, first['loc']))} {first['msg']}"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)
