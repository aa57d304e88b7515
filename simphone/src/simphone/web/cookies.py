"""Cookies and visits: what the browser keeps of the sites it was at, in files like Chrome's."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from .address import Address

if TYPE_CHECKING:
    from ..world import World

FOLDER = "/data/data/com.android.chrome/app_chrome/Default"
COOKIES, HISTORY = f"{FOLDER}/Cookies", f"{FOLDER}/History"
SCHEMA = """
CREATE TABLE IF NOT EXISTS cookies (
  creation_utc INTEGER NOT NULL, host_key TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  path TEXT NOT NULL, expires_utc INTEGER NOT NULL, UNIQUE (host_key, name, path));
"""
VISITS = """
CREATE TABLE IF NOT EXISTS urls (
  id INTEGER PRIMARY KEY AUTOINCREMENT, url LONGVARCHAR, title LONGVARCHAR,
  visit_count INTEGER DEFAULT 0 NOT NULL, last_visit_time INTEGER NOT NULL);
"""
LONGEST, PER_HOST = 4096, 50
EPOCH_1601_S = 11_644_473_600  # Chrome counts microseconds from the year 1601


def create(world: World) -> None:
    world.databases.script(COOKIES, SCHEMA)
    world.databases.script(HISTORY, VISITS)


def chrome_time(seconds: float) -> int:
    return int((seconds + EPOCH_1601_S) * 1_000_000)


def header(world: World, address: Address) -> str:
    """What this address is sent; longer paths first, as servers expect."""
    sql = """SELECT name, value, path FROM cookies WHERE host_key = ?
             AND (expires_utc = 0 OR expires_utc > ?) ORDER BY length(path) DESC, creation_utc"""
    now = chrome_time(world.clock.now())
    rows = world.databases.query(COOKIES, sql, (address.host, now))
    path = address.target.partition("?")[0]
    return "; ".join(f"{row['name']}={row['value']}" for row in rows if covers(row["path"], path))


def covers(cookie_path: str, path: str) -> bool:
    return path == cookie_path or path.startswith(cookie_path.rstrip("/") + "/")


def keep(world: World, address: Address, line: str) -> None:
    """One Set-Cookie. Cookies stay with the host that set them; Domain is not widened."""
    if len(line) > LONGEST:
        return
    pair, *rest = line.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name or any(c < " " or c == "\x7f" for c in line):
        return
    given = {}
    for part in rest:
        key, _, content = part.partition("=")
        given[key.strip().lower()] = content.strip()
    path = given.get("path", "")
    if not path.startswith("/"):
        path = address.target.partition("?")[0].rpartition("/")[0] or "/"
    now = world.clock.now()
    expires = expiry(given, now)
    drop = "DELETE FROM cookies WHERE host_key = ? AND name = ? AND path = ?"
    world.databases.execute(COOKIES, drop, (address.host, name, path))
    if expires is not None and expires <= now:
        return
    add = "INSERT INTO cookies VALUES (?, ?, ?, ?, ?, ?)"
    until = 0 if expires is None else chrome_time(expires)
    world.databases.execute(
        COOKIES, add, (chrome_time(now), address.host, name, value, path, until)
    )
    trim = """DELETE FROM cookies WHERE host_key = ?1 AND rowid NOT IN (SELECT rowid FROM cookies
              WHERE host_key = ?1 ORDER BY creation_utc DESC, rowid DESC LIMIT ?2)"""
    world.databases.execute(COOKIES, trim, (address.host, PER_HOST))


def expiry(given: dict[str, str], now: float) -> float | None:
    """When it ends, in the guest's seconds; None with the session."""
    age = given.get("max-age", "")
    if age.removeprefix("-").isdecimal() and age.isascii():
        return now + max(-1, min(int(age[:12]), 400 * 86400))
    try:
        return parsedate_to_datetime(given["expires"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError, IndexError):
        return None  # absent or not a date: a session's cookie


def visited(world: World, url: str, title: str) -> None:
    now = chrome_time(world.clock.now())
    sql = """UPDATE urls SET title = ?, visit_count = visit_count + 1, last_visit_time = ?
             WHERE url = ?"""
    if not world.databases.execute(HISTORY, sql, (title, now, url)):
        row = {"url": url, "title": title, "visit_count": 1, "last_visit_time": now}
        world.databases.insert(HISTORY, "urls", row, key="id")
