"""Which baked image is this, and how does a phone prove that it is back in it?

`golden.lock.json` stands beside a golden AVD; a reset is held against it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..errors import EmufarmError
from ..events.canonical import canonical
from .files import read_json, write_json

FILE = "golden.lock.json"
SCHEMA = 1
MARKER = "/data/local/tmp/emufarm-marker.json"  # baked into the phone


class BadLock(EmufarmError):
    """The lock is missing, or is not one that this version wrote."""


@dataclass(frozen=True)
class ImageLock:
    digest: str  # over all that the image was made from
    profile: str
    profile_digest: str
    avd: str
    snapshot: str
    boot_id: str
    nonce: str
    fingerprint: str
    emulator_version: str | None
    config_ini: str
    config_sha256: str
    snapshot_sha256: str  # without snapshot.pb, which changes with every load
    baked_ts_ms: int

    @property
    def marker(self) -> str:
        """The whole content of the marker file."""
        return marker(self.snapshot, self.nonce)

    def as_json(self) -> dict[str, Any]:
        return {"schema_version": SCHEMA, **asdict(self)}


_LOCK = TypeAdapter(ImageLock)


def marker(tag: str, nonce: str) -> str:
    return canonical({"nonce": nonce, "tag": tag}).decode()


def read_lock(path: Path) -> ImageLock:
    try:
        told = read_json(path)
        if not isinstance(told, dict) or told.pop("schema_version", None) != SCHEMA:
            raise BadLock(f"{path} is not an image lock of version {SCHEMA}")
        return _LOCK.validate_json(canonical(told), strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadLock(f"{path}: {where}: {first['msg']}") from error
    except (OSError, ValueError) as error:
        raise BadLock(f"{path} cannot be read: {error}") from error


def write_lock(path: Path, lock: ImageLock) -> None:
    write_json(path, lock.as_json())
