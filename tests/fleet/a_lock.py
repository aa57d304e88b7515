"""A small checkout with a lock and wheels of the packages that it pins."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

WHEELS = {
    "adbutils-1-py3-none-any.whl": {"adbutils/binaries/adb": b"\x7fELF adb"},
    "pillow-1-py3-none-any.whl": {"PIL/Image.py": b"", "pillow-1.dist-info/RECORD": b""},
    "h11-1-py3-none-any.whl": {"h11/__init__.py": b""},
    "regex-1-py3-none-any.whl": {"regex/__init__.py": b""},
    "fonticon_materialdesignicons7-1-py3-none-any.whl": {"fonticon_mdi7/fonts/a.ttf": b"icons"},
    "tiny-1-py3-none-any.whl": {
        "tiny.py": b"",
        "tiny-1.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1\n",
        "tiny-1.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
        "tiny-1.dist-info/RECORD": b"",
    },
}
SOURCE = "font-roboto-1.tar.gz"


def fill(house: Path) -> None:
    """With everything that the stand-in is made of."""
    house.mkdir(parents=True)
    for name, files in WHEELS.items():
        with zipfile.ZipFile(house / name, "w") as archive:
            for path, content in files.items():
                archive.writestr(path, content)
    with tarfile.open(house / SOURCE, "w:gz") as source:
        for path in ("setup.cfg", "font_roboto/files/Roboto-Bold.ttf", "x.egg-info/PKG-INFO"):
            entry = tarfile.TarInfo(f"font-roboto-1/{path}")
            entry.size = 4
            source.addfile(entry, io.BytesIO(b"data"))


def lock(root: Path, house: Path, *names: str) -> None:
    """requirements*.txt over files of the wheelhouse; all of them where none is named."""
    lines = []
    for path in sorted(house.iterdir()):
        if names and path.name not in names:
            continue
        project, version = path.name.split("-")[:2]
        hashed = hashlib.sha256(path.read_bytes()).hexdigest()
        lines.append(f"{project}=={version.split('.')[0]} --hash=sha256:{hashed}\n")
    (root / "requirements.txt").write_text("".join(lines))
    (root / "requirements-build.txt").write_text("")
