"""The versions on which an oracle's answer depends: adb, the phone's build, apps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..device.faults import DeviceFault
from ..device.phone import Device
from ..events.canonical import Json


class Versions:
    """The versions on the phone after its reset; each app is queried once. An unknown version is
    null, with the reason under `unknown`."""

    def __init__(self, device: Device, known: Mapping[str, Json]) -> None:
        self._device = device
        self._known = dict(known)  # of adb and the build
        self._apps: dict[str, tuple[Json, str]] = {}

    def of(self, packages: Sequence[str]) -> dict[str, Json]:
        found = {package: self._app(package) for package in packages}
        return {
            **self._known,
            "apps": {package: version for package, (version, _) in found.items()},
            "unknown": {package: why for package, (_, why) in found.items() if why},
        }

    def _app(self, package: str) -> tuple[Json, str]:
        if package not in self._apps:
            self._apps[package] = self._query(package)
        return self._apps[package]

    def _query(self, package: str) -> tuple[Json, str]:
        if package.startswith("content://"):
            return None, "the package that serves it is unknown"
        try:
            version = self._device.packages.version(package)
        except DeviceFault as fault:
            return None, str(fault)
        return {"name": version.name, "code": version.code}, ""
