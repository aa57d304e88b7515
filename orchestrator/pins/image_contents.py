"""What does a device image really hold? Run inside of it, by its Python: `main` prints JSON.

The code is put into a container of the image by whoever asks, so that an image cannot answer for
itself. Nothing here, or imported here, is beyond the standard library.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .files import source_sha256, tree_sha256
from .system_image import SystemImage, Unhashable, hash_system_image

OWN, SDK = Path("/opt/emufarm"), Path("/opt/android-sdk")
# What this module needs of the package, to be put where it runs.
SOURCES = (
    "__init__.py", "errors.py", "events/__init__.py", "events/canonical.py", "pins/__init__.py",
    "pins/image_contents.py", "pins/files.py", "pins/system_image.py",
)  # fmt: skip


@dataclass(frozen=True)
class ImageContents:
    """Hashes as they are now; `claimed_*` are what the build wrote down."""

    system_image: SystemImage
    claimed_system_image: SystemImage
    sdk_sha256: str
    claimed_sdk_sha256: str
    avd: str
    config_ini: str
    snapshots: dict[str, str]


def read_contents(own: Path = OWN, sdk: Path = SDK) -> ImageContents:
    """OSError or ValueError where the image lacks what its build puts there."""
    claimed = SystemImage(**_json(own / "system-image.json"))
    name = str(_json(own / "device.json")["avd"])
    avd = own / "avd" / f"{name}.avd"
    saved = avd / "snapshots"
    return ImageContents(
        system_image=hash_system_image(claimed.path),
        claimed_system_image=claimed,
        sdk_sha256=source_sha256(sdk),
        claimed_sdk_sha256=str(_json(own / "sdk.json")["tree_sha256"]),
        avd=name,
        config_ini=(avd / "config.ini").read_text("utf-8"),
        snapshots={
            place.name: snapshot_sha256(place)
            for place in sorted(saved.iterdir() if saved.is_dir() else ())
            if place.is_dir()
        },
    )


def snapshot_sha256(folder: Path) -> str:
    """Without snapshot.pb, which changes with every load."""
    return tree_sha256(folder, lambda name: name != "snapshot.pb")


def parse_contents(text: str) -> ImageContents:
    """What `main` printed; ValueError where it is something else."""
    try:
        told: dict[str, Any] = json.loads(text)
        told |= {name: SystemImage(**told[name]) for name in _IMAGES}
        return ImageContents(**told)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not the contents of an image: {error!r}") from error


_IMAGES = ("system_image", "claimed_system_image")


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def main() -> int:
    try:
        print(json.dumps(asdict(read_contents())))
    except (OSError, ValueError, KeyError, TypeError, Unhashable) as error:
        print(f"contents: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
