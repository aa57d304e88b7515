"""What the media store knows of the shared storage: content://media over external.db.

The index follows the files, late: somebody says that files changed, and a scan comes a moment
after. A scan writes only what differs, so scanning an unchanged phone leaves it unchanged.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..disk import MEDIA
from ..effects import Handler
from ..state import Json
from .provider import NO_FILE, Provider, ProviderError, Result, Route, Table, Wanted, columns
from .uri import Uri

if TYPE_CHECKING:
    from ..world import World

PATH = "/data/data/com.android.providers.media.module/databases/external.db"
SHOWN_ROOT = "/storage/emulated/0"
SCAN_DELAY_S = 0.15
MAX_FILES = 20_000
IMAGE, AUDIO, VIDEO, DOCUMENT = 1, 2, 3, 6
TYPES = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
    "webp": "image/webp", "bmp": "image/x-ms-bmp", "mp3": "audio/mpeg", "ogg": "audio/ogg",
    "wav": "audio/x-wav", "m4a": "audio/mp4", "flac": "audio/flac", "mp4": "video/mp4",
    "3gp": "video/3gpp", "webm": "video/webm", "mkv": "video/x-matroska", "txt": "text/plain",
    "md": "text/markdown", "csv": "text/comma-separated-values", "html": "text/html",
    "htm": "text/html", "json": "application/json", "pdf": "application/pdf",
    "zip": "application/zip", "apk": "application/vnd.android.package-archive",
    "vcf": "text/x-vcard", "ics": "text/calendar", "db": "application/octet-stream",
}  # fmt: skip
SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, _data TEXT UNIQUE COLLATE NOCASE, _size INTEGER,
  _display_name TEXT, title TEXT, mime_type TEXT, media_type INTEGER, date_added INTEGER,
  date_modified INTEGER, date_taken INTEGER, relative_path TEXT, bucket_id INTEGER,
  bucket_display_name TEXT, volume_name TEXT DEFAULT 'external_primary', width INTEGER,
  height INTEGER, duration INTEGER, owner_package_name TEXT, is_download INTEGER DEFAULT 0,
  is_pending INTEGER DEFAULT 0, is_trashed INTEGER DEFAULT 0, is_favorite INTEGER DEFAULT 0);
"""
_COLUMNS = columns(
    "_id,_data,_size,_display_name,title,mime_type,media_type,date_added,date_modified,"
    "date_taken,relative_path,bucket_id,bucket_display_name,volume_name,width,height,duration,"
    "owner_package_name,is_download,is_pending,is_trashed,is_favorite"
)


@dataclass(frozen=True)
class Found:
    """A file of the shared storage as a scan sees it."""

    shown: str  # /storage/emulated/0/...
    size: int
    modified_s: int


def create(world: World) -> None:
    world.databases.script(PATH, SCHEMA)


def changed(world: World) -> None:
    """Files under the shared storage may have changed: scan them soon, once for many calls."""
    if not any(effect["name"] == "media.scan" for effect in world.effects.save()):
        world.effects.later(world.noise.stretch(SCAN_DELAY_S), "media.scan")


def mime_of(name: str) -> str:
    _, dot, extension = name.rpartition(".")
    return (
        TYPES.get(extension.lower(), "application/octet-stream")
        if dot
        else ("application/octet-stream")
    )


def scan(world: World) -> int:
    """Make the index equal to the files; returns how many rows changed."""
    files = {found.shown: found for found in _walk(world)}
    known = world.databases.query(PATH, "SELECT _id, _data, _size, date_modified FROM files")
    touched = 0
    for row in known:
        found = files.pop(row["_data"], None)
        if found is None:
            world.databases.execute(PATH, "DELETE FROM files WHERE _id = ?", (row["_id"],))
        elif (found.size, found.modified_s) != (row["_size"], row["date_modified"]):
            sql = "UPDATE files SET _size = ?, date_modified = ? WHERE _id = ?"
            world.databases.execute(PATH, sql, (found.size, found.modified_s, row["_id"]))
        else:
            continue
        touched += 1
    for found in sorted(files.values(), key=lambda each: each.shown):
        world.databases.insert(PATH, "files", _row(world, found))
    return touched + len(files)


def _walk(world: World) -> Iterator[Found]:
    root = world.disk.own(MEDIA)
    count = 0
    for folder, folders, names in os.walk(root):
        # What Android hides from the index: dot names and app-private trees.
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "Android")
        for name in sorted(names):
            full = os.path.join(folder, name)
            try:
                seen = os.lstat(full)
            except FileNotFoundError:
                continue  # went away during the walk
            if name.startswith(".") or not stat.S_ISREG(seen.st_mode):
                continue
            count += 1
            if count > MAX_FILES:
                return
            shown = f"{SHOWN_ROOT}/{os.path.relpath(full, root)}"
            yield Found(_text(shown), seen.st_size, int(seen.st_mtime))


def _text(name: str) -> str:
    """A file name of any bytes, as text that a database takes."""
    return os.fsencode(name).decode("utf-8", "replace")


def _row(world: World, found: Found) -> dict[str, Json]:
    folder, _, name = found.shown.rpartition("/")
    relative = folder.removeprefix(SHOWN_ROOT).lstrip("/")
    mime = mime_of(name)
    kinds = {"image": IMAGE, "audio": AUDIO, "video": VIDEO, "text": DOCUMENT}
    kind = DOCUMENT if mime == "application/pdf" else kinds.get(mime.split("/")[0], 0)
    return {
        "_data": found.shown,
        "_size": found.size,
        "_display_name": name,
        "title": name.rpartition(".")[0] or name,
        "mime_type": mime,
        "media_type": kind,
        "date_added": int(world.clock.now()),
        "date_modified": found.modified_s,
        "relative_path": f"{relative}/" if relative else "/",
        "bucket_display_name": relative.rpartition("/")[2] or None,
        "is_download": int(relative == "Download" or relative.startswith("Download/")),
    }


class MediaProvider(Provider):
    def query(self, world: World, uri: Uri, wanted: Wanted) -> Result:
        result = super().query(world, uri, wanted)
        # Whoever wrote a file may not have said so: one who asks again sees it.
        changed(world)
        return result

    def file(self, world: World, uri: Uri) -> str:
        rows = super().query(world, uri, Wanted(("_data",))).rows
        if len(rows) != 1:
            raise ProviderError(NO_FILE, f"No item at {uri.text}")
        return str(rows[0][0])

    def call(self, world: World, method: str, arg: str | None) -> str | None:
        if method not in ("scan_volume", "scan_file"):
            return super().call(world, method, arg)
        scan(world)
        return "Bundle[{}]" if method == "scan_volume" else None


def _scan_effect(world: World, args: dict[str, Json]) -> None:
    scan(world)


def _routes(volume: str) -> list[Route]:
    files = Table("files", _COLUMNS)
    kinds = {"images": IMAGE, "audio": AUDIO, "video": VIDEO}
    tables = {
        f"{volume}/{kind}/media": Table("files", _COLUMNS, where=f"media_type = {number}")
        for kind, number in kinds.items()
    }
    tables[f"{volume}/downloads"] = Table("files", _COLUMNS, where="is_download = 1")
    tables[f"{volume}/file"] = files
    return [
        route
        for pattern, table in tables.items()
        for route in (Route(pattern, table), Route(f"{pattern}/#", table))
    ]


MEDIA_STORE = MediaProvider("media", PATH, [*_routes("external"), *_routes("external_primary")])
EFFECTS: dict[str, Handler] = {"media.scan": _scan_effect}
