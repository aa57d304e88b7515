"""Hashes the contents of a device image. Runs inside a container of it; `main` prints JSON.

The farm copies this code into the container, so that an image cannot answer for itself. This module
and all that it imports use the standard library only.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..files import read_json, source_sha256, tree_sha256
from .system_image import SystemImage, Unhashable, hash_system_image

OWN, SDK = Path("/opt/emufarm"), Path("/opt/android-sdk")
# The files of the package that this module needs where it runs.
SOURCES = (
    "__init__.py", "errors.py", "events/__init__.py", "events/canonical.py", "pins/__init__.py",
    "pins/image_contents.py", "files.py", "pins/system_image.py",
)  # fmt: skip


@dataclass(frozen=True)
class ImageContents:
    """The hashes as they are now; `claimed_*` are those that the build recorded."""

    system_image: SystemImage
    claimed_system_image: SystemImage
    sdk_sha256: str
    claimed_sdk_sha256: str
    avd: str
    config_ini: str
    snapshots: dict[str, str]


def read_contents(own: Path = OWN, sdk: Path = SDK) -> ImageContents:
    """Raises OSError or ValueError where files of the build are missing or wrong."""
    claimed = SystemImage(**read_json(own / "system-image.json"))
    name = str(read_json(own / "device.json")["avd"])
    avd = own / "avd" / f"{name}.avd"
    saved = avd / "snapshots"
    return ImageContents(
        system_image=hash_system_image(claimed.path),
        claimed_system_image=claimed,
        sdk_sha256=source_sha256(sdk),
        claimed_sdk_sha256=str(read_json(own / "sdk.json")["tree_sha256"]),
        avd=name,
        config_ini=(avd / "config.ini").read_text("utf-8"),
        snapshots={
            place.name: snapshot_sha256(place)
            for place in sorted(saved.iterdir() if saved.is_dir() else ())
            if place.is_dir()
        },
    )


def snapshot_sha256(folder: Path) -> str:
    """The digest of a snapshot's folder without snapshot.pb, which changes with every load."""
    return tree_sha256(folder, lambda name: name != "snapshot.pb")


def parse_contents(text: str) -> ImageContents:
    """Reads what `main` printed. Raises ValueError where it is something else."""
    try:
        printed: dict[str, Any] = json.loads(text)
        for name in ("system_image", "claimed_system_image"):
            printed[name] = SystemImage(**printed[name])
        return ImageContents(**printed)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not the contents of an image: {error!r}") from error


def main() -> int:
    try:
        print(json.dumps(asdict(read_contents())))
    except (OSError, ValueError, KeyError, TypeError, Unhashable) as error:
        print(f"contents: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
