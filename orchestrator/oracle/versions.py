"""Which versions stand behind an oracle's answer?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..device.faults import DeviceFault
from ..device.phone import Device
from ..events.canonical import Json


class Versions:
    """Of the phone as it was reset: each app is asked for once. What cannot be known is null, with
    why beside it."""

    def __init__(self, device: Device, known: Mapping[str, Json]) -> None:
        self._device = device
        self._known = dict(known)  # adb's, the build's
        self._apps: dict[str, tuple[Json, str]] = {}

    def behind(self, packages: Sequence[str]) -> dict[str, Json]:
        found = {package: self._app(package) for package in packages}
        return {
            **self._known,
            "apps": {package: version for package, (version, _) in found.items()},
            "unknown": {package: why for package, (_, why) in found.items() if why},
        }

    def _app(self, package: str) -> tuple[Json, str]:
        if package not in self._apps:
            self._apps[package] = self._asked(package)
        return self._apps[package]

    def _asked(self, package: str) -> tuple[Json, str]:
        if package.startswith("content://"):
            return None, "no package is known to serve it"
        try:
            version = self._device.packages.version(package)
        except DeviceFault as fault:
            return None, str(fault)
        return {"name": version.name, "code": version.code}, ""
