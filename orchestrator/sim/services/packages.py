"""Installed packages: the built-in apps, and what was installed from a pushed file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace

from ..disk import Disk

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


class Packages:
    """Kept in a file under /data/system: an install survives a reboot and obeys snapshots."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._cache: dict[str, Package] | None = None

    def _load(self) -> dict[str, Package]:
        if self._cache is None:
            path = self._disk.own(REGISTRY)
            rows = json.loads(path.read_text()) if path.exists() else []
            self._cache = {
                row["name"]: Package(
                    **{
                        **row,
                        "permissions": tuple(row["permissions"]),
                        "granted": tuple(row["granted"]),
                    }
                )
                for row in rows
            }
        return self._cache

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

    def put_all(self, packages: Iterable[Package]) -> None:
        self._load().update({package.name: package for package in packages})
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
