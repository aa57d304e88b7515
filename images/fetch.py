"""Downloads a zip in an image's build, checks it against its pins, and unpacks it.

    fetch.py --name emulator --url URL --size N --sha1 H --sha256 H --into SDK
    fetch.py ... --package 'system-images;android-34;google_apis;x86_64'    a zip that holds x86_64/

An address is http, https or file (in the build's context). Anything wrong is one sentence and exit
1, before anything is unpacked. An empty pin counts as not given. Standard library only.
"""

from __future__ import annotations

import argparse
import calendar
import hashlib
import os
import stat
import sys
import tempfile
import time
import urllib.request
import zipfile
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO

READ_S = 60.0  # between two pieces of an answer
WHOLE_S = 3600.0
PIECE = 1 << 20


class Refused(Exception):
    """The build cannot go on; one sentence, as its last line."""


@dataclass(frozen=True)
class Pin:
    """Where a zip is, and what it must be."""

    name: str
    url: str
    size: int | None
    sha1: str
    sha256: str


def fetch(pin: Pin, into: Path) -> None:
    if not pin.sha1 and not pin.sha256:
        raise Refused(f"{pin.name}: neither a sha1 nor a sha256 is pinned for {pin.url}")
    with tempfile.TemporaryFile() as file:
        download(pin, file)
        unpack(pin.name, file, into)


def download(pin: Pin, file: IO[bytes]) -> None:
    """Download the whole zip; Refused where it is not as pinned."""
    if not pin.url.startswith(("http://", "https://", "file:///")):
        raise Refused(f"{pin.name}: {pin.url!r} is no http, https or file address")
    hashes = {"sha1": hashlib.sha1(), "sha256": hashlib.sha256()}
    came, deadline = 0, time.monotonic() + WHOLE_S
    try:
        # The scheme was checked above.
        with urllib.request.urlopen(pin.url, timeout=READ_S) as answer:
            length = answer.headers.get("Content-Length")
            while piece := answer.read(PIECE):
                came += len(piece)
                if pin.size is not None and came > pin.size:
                    raise Refused(
                        f"{pin.name}: {pin.url} is larger than the {pin.size} bytes pinned"
                    )
                if time.monotonic() > deadline:
                    raise Refused(f"{pin.name}: {pin.url} took more than {WHOLE_S:.0f} s")
                for one in hashes.values():
                    one.update(piece)
                file.write(piece)
    except (OSError, HTTPException) as error:
        raise Refused(f"{pin.name}: cannot fetch {pin.url}: {error}") from error
    if length is not None and came != int(length):
        raise Refused(f"{pin.name}: {pin.url} ended after {came} of its {length} bytes")
    if pin.size is not None and came != pin.size:
        raise Refused(f"{pin.name}: {pin.url} has {came} bytes, pinned are {pin.size}")
    for kind, wanted in (("sha1", pin.sha1), ("sha256", pin.sha256)):
        found = hashes[kind].hexdigest()
        if wanted and found != wanted:
            raise Refused(f"{pin.name}: {pin.url} has the {kind} {found}, pinned is {wanted}")


def unpack(name: str, file: IO[bytes], into: Path) -> None:
    """Unpack a zip; every name in it is checked before the first file is written."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check(name, archive, entries)
            for entry in entries:
                _write(archive, entry, into)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise Refused(f"{name}: not a zip that can be read: {error}") from error
    except OSError as error:
        raise Refused(f"{name}: cannot unpack into {into}: {error}") from error


def _check(name: str, archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> None:
    seen: set[str] = set()
    for entry in entries:
        path = entry.filename
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\\" in path:
            raise Refused(f"{name}: the zip names {path!r}, which is outside its folder")
        if path.rstrip("/") in seen:
            raise Refused(f"{name}: the zip names {path!r} twice")
        seen.add(path.rstrip("/"))
        if _is_link(entry):
            target = archive.read(entry).decode("utf-8", "replace")
            landed = os.path.normpath(os.path.join(os.path.dirname(path), target))
            if target.startswith("/") or landed.split("/")[0] in ("..", ""):
                raise Refused(f"{name}: the link {path!r} leads to {target!r}, outside")
    links = {entry.filename.rstrip("/") for entry in entries if _is_link(entry)}
    for path in seen:
        if through := links & {str(parent) for parent in PurePosixPath(path).parents}:
            raise Refused(f"{name}: the zip writes {path!r} through the link {min(through)!r}")


def _is_link(entry: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(entry.external_attr >> 16)


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, into: Path) -> None:
    path = into / entry.filename
    if entry.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if _is_link(entry):
        path.symlink_to(archive.read(entry).decode("utf-8"))
        return
    with archive.open(entry) as source, path.open("xb") as target:
        while piece := source.read(PIECE):
            target.write(piece)
    # One of two modes, independent of the umask, so that equal zips give equal layers.
    path.chmod(0o755 if entry.external_attr >> 16 & 0o111 else 0o644)
    when = calendar.timegm(entry.date_time)
    os.utime(path, (when, when))


def _size(text: str) -> int | None:
    if text and not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes")
    return int(text) if text else None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="fetch.py", description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--size", type=_size, default="")
    parser.add_argument("--sha1", type=str.lower, default="")
    parser.add_argument("--sha256", type=str.lower, default="")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--package", default="")
    given = parser.parse_args(arguments)
    into = given.into.joinpath(*given.package.split(";")[:-1])
    try:
        fetch(Pin(given.name, given.url, given.size, given.sha1, given.sha256), into)
    except Refused as error:
        print(f"fetch: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
