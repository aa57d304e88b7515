"""The image lock: the facts of a baked image, against which devices and resets are checked.

`golden.lock.json` is beside a golden AVD; `images/<profile>/image.lock.json` names a container
image that contains one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from ..errors import EmufarmError
from ..events.canonical import canonical
from ..files import read_json, write_json
from .system_image import SystemImage

FILE = "golden.lock.json"
IMAGE_FILE = "image.lock.json"
SCHEMA = 2
MARKER = "/data/local/tmp/emufarm-marker.json"  # baked into the phone


class BadLock(EmufarmError):
    """The lock is missing, or is not one that this version wrote."""


ImageId = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


@dataclass(frozen=True)
class Container:
    """The container image, and what it was baked with."""

    image: ImageId  # the engine's own id
    tag: str
    sdk_sha256: str  # over every file of the SDK in it
    snapshots: dict[str, str]  # tag -> sha256, as `snapshot_sha256` computes it
    host_cpu: str  # no emulator checks it, but a snapshot may hang on another model
    pushed: dict[str, str]  # name in a registry -> the digest it has there
    # Likewise of the worker image that was pushed with it, which a cluster runs beside it.
    worker_pushed: dict[str, str] = field(default_factory=dict)


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
    adb_version: str
    system_image: SystemImage
    config_ini: str
    config_sha256: str
    snapshot_sha256: str  # without snapshot.pb, which changes with every load
    baked_ts_ms: int
    container: Container | None = None  # None: a golden AVD in a folder of this machine

    @property
    def marker(self) -> str:
        """The whole content of the marker file."""
        return marker_text(self.snapshot, self.nonce)

    def as_json(self) -> dict[str, Any]:
        body = {"schema_version": SCHEMA, **asdict(self)}
        if self.container is None:
            del body["container"]
        return body


_LOCK = TypeAdapter(ImageLock)


def marker_text(tag: str, nonce: str) -> str:
    return canonical({"nonce": nonce, "tag": tag}).decode()


def parse_ini(text: str) -> dict[str, str]:
    """The keys and values of a config.ini."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def read_lock(path: Path) -> ImageLock:
    """Raises BadLock where the file is missing or is not a lock of this version."""
    try:
        body = read_json(path)
        if not isinstance(body, dict) or body.pop("schema_version", None) != SCHEMA:
            raise BadLock(f"{path} is not an image lock of version {SCHEMA}")
        return _LOCK.validate_json(canonical(body), strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadLock(f"{path}: {where}: {first['msg']}") from error
    except (OSError, ValueError) as error:
        raise BadLock(f"{path} cannot be read: {error}") from error


def write_lock(path: Path, lock: ImageLock) -> None:
    write_json(path, lock.as_json())
