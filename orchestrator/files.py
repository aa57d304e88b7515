"""Digests of files and folders, and atomic, durable writes of JSON and other files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from .errors import UsageError
from .events.canonical import digest

_UNFINISHED = re.compile(r"\..+\.\d+\.new")  # as `write_atomically` names it
NameFilter = Callable[[str], bool]  # takes the path below the folder, with slashes


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_files(folder: Path, keep: NameFilter = lambda name: True) -> Iterator[tuple[str, Path]]:
    """Every file and link below a folder with its relative name, sorted by name."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    for name in sorted(found):
        if keep(name) and (found[name].is_symlink() or not found[name].is_dir()):
            yield name, found[name]


def tree(folder: Path, keep: NameFilter = lambda name: True) -> dict[str, str]:
    """Each file's digest and each link's target by name; empty folders do not count."""
    return {name: _content(path) for name, path in tree_files(folder, keep)}


def tree_sha256(folder: Path, keep: NameFilter = lambda name: True) -> str:
    """One digest for a folder. Any other name or byte gives another digest."""
    return digest(tree(folder, keep))


def source_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """A program's files without Python's caches."""
    return tree_files(folder, _is_source)


def source_sha256(folder: Path) -> str:
    return tree_sha256(folder, _is_source)


def _is_source(name: str) -> bool:
    return "__pycache__" not in name.split("/")


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"-> {os.readlink(path)}"
    if not stat.S_ISREG(path.stat().st_mode):
        return "special"  # a socket or pipe that a running program left
    return file_sha256(path)


def read_json(path: Path) -> Any:
    """Raises ValueError where the file is not JSON."""
    return json.loads(path.read_bytes())


def json_bytes(value: Any) -> bytes:
    """The bytes that `write_json` writes; equal values give equal files."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def write_json(path: Path, value: Any) -> None:
    """Writes indented JSON, atomically and durably."""
    write_atomically(path, [json_bytes(value)])


def write_atomically(path: Path, parts: Iterable[bytes]) -> None:
    """Durable, and never visible half-written; the parts need not be in memory at once."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with new.open("wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    sync_folder(path.parent)


def remove_unfinished(folder: Path) -> None:
    """What a process that was killed left of `write_atomically` in this folder, where nobody else
    writes now."""
    for left in folder.glob(".*.new"):
        if _UNFINISHED.fullmatch(left.name):
            left.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Sync the folder itself, which makes the names in it durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_secret(path: Path) -> str:
    """The secret in a file; UsageError if it cannot be read."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read the secret in {path}: {error}") from error
