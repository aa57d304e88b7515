"""What was downloaded: content://downloads over downloads.db."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..disk import MEDIA
from . import media
from .provider import Provider, Route, Table, columns

if TYPE_CHECKING:
    from ..world import World

PATH = "/data/data/com.android.providers.downloads/databases/downloads.db"
FOLDER = f"{MEDIA}/Download"
RUNNING, SUCCESS = 192, 200
SCHEMA = """
CREATE TABLE IF NOT EXISTS downloads (
  _id INTEGER PRIMARY KEY AUTOINCREMENT, uri TEXT, hint TEXT, _data TEXT, mimetype TEXT,
  destination INTEGER DEFAULT 4, visibility INTEGER DEFAULT 1, control INTEGER DEFAULT 0,
  status INTEGER, numfailed INTEGER DEFAULT 0, lastmod BIGINT, notificationpackage TEXT,
  total_bytes INTEGER DEFAULT -1, current_bytes INTEGER DEFAULT 0, title TEXT,
  description TEXT NOT NULL DEFAULT '', is_visible_in_downloads_ui INTEGER DEFAULT 1,
  mediaprovider_uri TEXT, deleted INTEGER DEFAULT 0);
"""


@dataclass(frozen=True)
class Download:
    id: int
    uri: str
    path: str  # as apps see it, /storage/emulated/0/Download/...
    title: str
    mime: str
    status: int  # RUNNING or SUCCESS, or one that somebody else wrote
    size: int


def create(world: World) -> None:
    world.databases.script(PATH, SCHEMA)


def downloads(world: World) -> list[Download]:
    """The latest first."""
    sql = "SELECT * FROM downloads WHERE deleted = 0 ORDER BY lastmod DESC, _id DESC"
    return [
        Download(
            id=row["_id"],
            uri=str(row["uri"] or ""),
            path=str(row["_data"] or ""),
            title=str(row["title"] or ""),
            mime=str(row["mimetype"] or ""),
            status=int(row["status"] or 0),
            size=int(row["total_bytes"] or 0),
        )
        for row in world.databases.query(PATH, sql)
    ]


def begin(world: World, uri: str, name: str, package: str = "com.android.chrome") -> int:
    """A download is under way; `name` is made safe and free in the Download folder."""
    path = f"{media.SHOWN_ROOT}/Download/{_free_name(world, name)}"
    row = {
        "uri": uri,
        "_data": path,
        "mimetype": media.mime_of(path),
        "status": RUNNING,
        "lastmod": world.clock.now_ms(),
        "notificationpackage": package,
        "title": path.rpartition("/")[2],
    }
    return world.databases.insert(PATH, "downloads", row)


def finish(world: World, download_id: int, data: bytes) -> str:
    """Writes the file; returns its path."""
    [row] = world.databases.query(PATH, "SELECT _data FROM downloads WHERE _id = ?", (download_id,))
    path = str(row["_data"])
    world.disk.own(path).write_bytes(data)
    sql = """UPDATE downloads SET status = ?, total_bytes = ?, current_bytes = ?, lastmod = ?
             WHERE _id = ?"""
    done = (SUCCESS, len(data), len(data), world.clock.now_ms(), download_id)
    world.databases.execute(PATH, sql, done)
    media.changed(world)
    return path


def _free_name(world: World, wanted: str) -> str:
    plain = "".join("_" if char in '/\\:*?"<>|\0' or char < " " else char for char in wanted)
    plain = plain.strip(". ").encode("utf-8", "replace").decode()[-100:] or "download"
    stem, dot, extension = plain.rpartition(".")
    stem, tail = (stem, dot + extension) if stem else (plain, "")
    taken = {download.path.rpartition("/")[2] for download in downloads(world)}
    number, name = 0, plain
    while name in taken or world.disk.own(f"{FOLDER}/{name}").exists():
        number += 1
        name = f"{stem}-{number}{tail}"
    return name


_DOWNLOADS = Table(
    "downloads",
    columns(
        "_id,uri,hint,_data,mimetype,destination,visibility,control,status,numfailed,lastmod,"
        "notificationpackage,total_bytes,current_bytes,title,description,"
        "is_visible_in_downloads_ui,mediaprovider_uri,deleted"
    ),
)
DOWNLOADS = Provider(
    "downloads",
    PATH,
    [
        Route(pattern, _DOWNLOADS)
        for name in ("my_downloads", "all_downloads")
        for pattern in (name, f"{name}/#")
    ],
)
