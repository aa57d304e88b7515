"""Installed packages: the built-in apps, and what was installed from a pushed file."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..disk import Disk

log = logging.getLogger(__name__)

REGISTRY = "/data/system/packages.json"
FIRST_APP_UID = 10100


@dataclass(frozen=True)
class Package:
    name: str
    path: str  # of its base.apk
    uid: int
    version_code: int = 34
    version_name: str = "14"
    min_sdk: int = 34
    system: bool = True
    permissions: tuple[str, ...] = ()  # requested
    granted: tuple[str, ...] = ()
    installed_ms: int = field(default=0)
    installer: str = ""
    enabled: bool = True


def _package(row: dict[str, Any]) -> Package:
    lists = {name: tuple(map(str, row[name])) for name in ("permissions", "granted")}
    return Package(**{**row, **lists})


class Packages:
    """Kept in a file under /data/system: an install survives a reboot and obeys snapshots."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._cache: dict[str, Package] | None = None

    def _load(self) -> dict[str, Package]:
        if self._cache is None:
            self._cache = self._read()
        return self._cache

    def _read(self) -> dict[str, Package]:
        path = self._disk.own(REGISTRY)
        if not path.is_file():
            return {}
        try:
            return {row["name"]: _package(row) for row in json.loads(path.read_bytes())}
        except (ValueError, TypeError, KeyError, RecursionError):
            # Root wrote over it. A real phone without its packages does not come up either.
            log.warning("%s cannot be read: no package is installed", REGISTRY)
            return {}

    def _store(self) -> None:
        rows = [asdict(package) for package in self.all()]
        self._disk.own(REGISTRY).write_text(json.dumps(rows, indent=1))

    def forget(self) -> None:
        """The file was replaced under us (a snapshot was loaded)."""
        self._cache = None

    def all(self) -> list[Package]:
        return sorted(self._load().values(), key=lambda package: package.name)

    def get(self, name: str) -> Package | None:
        return self._load().get(name)

    def put(self, package: Package) -> None:
        self._load()[package.name] = package
        self._store()

    def remove(self, name: str) -> None:
        self._load().pop(name, None)
        self._store()

    def next_uid(self) -> int:
        return max([FIRST_APP_UID - 1, *(p.uid for p in self.all() if p.uid >= FIRST_APP_UID)]) + 1

    def grant(self, name: str, permission: str, *, allow: bool) -> None:
        package = self._load()[name]
        granted = set(package.granted) - {permission} | ({permission} if allow else set())
        self.put(replace(package, granted=tuple(sorted(granted))))
