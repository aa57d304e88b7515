"""Downloads a profile's APKs into the cache and checks each against its pinned hash at every use.

<cache>/apks/<sha256>.apk
"""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path

from ..device.deadline import Deadline
from ..errors import EmufarmError
from ..events.notify import Notify
from ..files import file_sha256
from ..pins.profile import Apk, Profile

READ_S, WHOLE_S = 60.0, 1800.0
_PIECE = 1 << 20


class NoApk(EmufarmError):
    """An APK of the profile could not be downloaded as pinned."""


def apks(profile: Profile, cache: Path, notify: Notify) -> dict[str, Path]:
    """The file of each APK, by package."""
    folder = cache / "apks"
    folder.mkdir(parents=True, exist_ok=True)
    return {apk.package: _cached(apk, folder, notify) for apk in profile.apks}


def _cached(apk: Apk, folder: Path, notify: Notify) -> Path:
    path = folder / f"{apk.sha256}.apk"
    if path.is_file() and file_sha256(path) == apk.sha256:
        return path
    notify(f"downloading {apk.package} {apk.version}")
    new = folder / f".{apk.sha256}.{os.getpid()}.new"
    try:
        _download(apk, new)
        if (found := file_sha256(new)) != apk.sha256:
            raise NoApk(f"{apk.url} has the sha256 {found}, pinned is {apk.sha256}")
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    return path


def _download(apk: Apk, path: Path) -> None:
    deadline = Deadline(WHOLE_S)
    try:
        # A profile's addresses are http, https or file, by its schema.
        with urllib.request.urlopen(apk.url, timeout=READ_S) as answer, path.open("wb") as file:
            while piece := answer.read(_PIECE):
                file.write(piece)
                deadline.left()
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise NoApk(f"cannot download {apk.package} from {apk.url}: {reason}") from error
