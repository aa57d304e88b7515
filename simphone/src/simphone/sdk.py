"""Packs the phone as an SDK: three zips in the layout of the vendor's.

    emulator.zip         emulator/emulator          takes the emulator's command line
                         emulator/lib/              the phone's code and the libraries it needs
    platform-tools.zip   platform-tools/adb         the real one, from its wheel
    system-image.zip     x86_64/                    build.prop and what else the phone reads

An image build that expects Google's zips takes these instead. The same code and the same wheels
give the same bytes: names are sorted, all files have one date, nothing is compressed.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .avd import EMBEDDED

EMULATOR, PLATFORM_TOOLS, SYSTEM_IMAGE = "emulator.zip", "platform-tools.zip", "system-image.zip"
DATE = (2008, 1, 1, 0, 0, 0)  # the date of the files in the vendor's zips
# What the phone imports, as pyproject.toml lists it.
LIBRARIES = ("font-roboto", "fonticon-materialdesignicons7", "h11", "pillow", "regex")
ADB_PROJECT, ADB = "adbutils", "adbutils/binaries/adb"
CODE = Path(__file__).parent
LAUNCHER = '''\
#!/usr/bin/env python3
"""The emulator's command line, answered by the simulated phone."""
import os
import sys

if sys.version_info[:2] != (3, 11):
    sys.exit(f"this emulator is packed for Python 3.11, not {sys.version.split()[0]}")
here = os.path.dirname(os.path.realpath(__file__))
# As the real one does: the SDK is the folder that the emulator's stands in.
os.environ.setdefault("ANDROID_SDK_ROOT", os.path.dirname(here))
sys.path[0] = os.path.join(here, "lib")

from simphone.emulator import main

sys.exit(main(sys.argv[1:]))
'''

Content = Mapping[str, bytes]


class SdkError(Exception):
    """The wheels are not there, or the zips cannot be written."""


def pack(out: Path, wheelhouse: Path) -> dict[str, dict[str, Any]]:
    """Writes the three zips, each whole or not at all; returns path, size and sha256 of each."""
    try:
        made = {
            EMULATOR: _emulator(wheelhouse),
            PLATFORM_TOOLS: _platform_tools(wheelhouse),
            SYSTEM_IMAGE: {f"x86_64/{name}": data for name, data in _files(EMBEDDED)},
        }
    except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise SdkError(f"cannot read the wheels in {wheelhouse}: {error}") from error
    try:
        out.mkdir(parents=True, exist_ok=True)
        return {
            Path(name).stem.replace("-", "_"): _write(out / name, _packed(content))
            for name, content in made.items()
        }
    except OSError as error:
        raise SdkError(f"cannot write the SDK into {out}: {error}") from error


def _emulator(wheelhouse: Path) -> Content:
    content = {
        "emulator/emulator": LAUNCHER.encode(),
        "emulator/source.properties": _properties("Simulated phone", "emulator"),
    }
    for name, data in _files(CODE):
        if not name.startswith("system_image/"):  # that is the third zip
            content[f"emulator/lib/simphone/{name}"] = data
    for project in LIBRARIES:
        for name, data in _unpacked(_wheel(wheelhouse, project)):
            content[f"emulator/lib/{name}"] = data
    return content


def _platform_tools(wheelhouse: Path) -> Content:
    source = _wheel(wheelhouse, ADB_PROJECT)
    files = dict(_unpacked(source))
    if ADB not in files:
        raise SdkError(f"{source} holds no {ADB}: it is a wheel for another system")
    return {
        "platform-tools/adb": files[ADB],
        "platform-tools/source.properties": _properties(f"adb of {source.name}", "platform-tools"),
    }


def _properties(what: str, path: str) -> bytes:
    return f"Pkg.Desc={what}\nPkg.Path={path}\n".encode()


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """A folder's files without what Python caches beside them."""
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _wheel(wheelhouse: Path, project: str) -> Path:
    """The one file of a project."""
    for path in sorted(wheelhouse.iterdir()):
        # A wheel's name has no dash of its own; a source archive's may.
        stem = path.name.split("-")[0] if path.suffix == ".whl" else path.name.rpartition("-")[0]
        if _normal(stem) == _normal(project):
            return path
    raise SdkError(f"{wheelhouse} holds no wheel of {project}")


def _normal(project: str) -> str:
    return re.sub(r"[-_.]+", "-", project).lower()


def _unpacked(archive: Path) -> Iterator[tuple[str, bytes]]:
    """What an installer would put where packages stand; metadata is left behind."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel_file:
            for entry in wheel_file.infolist():
                if not entry.is_dir() and ".dist-info/" not in entry.filename:
                    yield entry.filename, wheel_file.read(entry)
        return
    with tarfile.open(archive) as source:  # a project that is published as source only
        for member in source:
            _, _, name = member.name.partition("/")
            file = source.extractfile(member) if member.isfile() else None
            if file is not None and "/" in name and ".egg-info/" not in name:
                yield name, file.read()


def _packed(content: Content) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(content):
            entry = zipfile.ZipInfo(name, DATE)
            entry.create_system = 3  # Unix: the mode counts
            program = content[name].startswith((b"#!", b"\x7fELF")) and "/lib/" not in name
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            archive.writestr(entry, content[name])
    return whole.getvalue()


def _write(path: Path, data: bytes) -> dict[str, Any]:
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with new.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    digest = hashlib.sha256(data).hexdigest()
    return {"path": str(path.absolute()), "size": len(data), "sha256": digest}
