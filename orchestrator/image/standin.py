"""The stand-in SDK: the simulated phone, packed in the layout of the vendor's three zips.

    emulator.zip         emulator/emulator          takes the emulator's command line
                         emulator/lib/              the phone's code, and the wheels it draws with
    platform-tools.zip   platform-tools/adb         the real one, from its wheel
    system-image.zip     x86_64/                    build.prop and what else the phone reads

Where the vendor's zips cannot be had, Dockerfile.emulator is built with these, and nothing else
about it differs. The same code and the same lock give the same bytes: names are sorted, dates are
one date, nothing is compressed.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from ..pins.code_version import ROOT
from ..pins.files import file_sha256, source_files, write_whole
from .wheelhouse import require_locked, wheel

EMULATOR, PLATFORM_TOOLS, SYSTEM_IMAGE = "emulator.zip", "platform-tools.zip", "system-image.zip"
DATE = (2008, 1, 1, 0, 0, 0)  # the one that the vendor's zips carry for theirs
DRAWING = ("pillow", "font-roboto", "fonticon-materialdesignicons7")
ADB = "adbutils/binaries/adb"
PHONE = "simphone/src/simphone"
LAUNCHER = '''\
#!/usr/bin/env python3
"""The emulator's command line, answered by emufarm's simulated phone."""
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


@dataclass(frozen=True)
class Zip:
    """One part, as a build must find it."""

    path: Path
    size: int
    sha256: str


@dataclass(frozen=True)
class StandIn:
    emulator: Zip
    platform_tools: Zip
    system_image: Zip


def stand_in(out: Path, wheelhouse: Path, root: Path = ROOT) -> StandIn:
    """Writes the three zips into a folder, each whole or not at all."""
    require_locked(wheelhouse, root)
    try:
        out.mkdir(parents=True, exist_ok=True)
        return StandIn(
            _write(out / EMULATOR, _emulator(wheelhouse, root)),
            _write(out / PLATFORM_TOOLS, _platform_tools(wheelhouse)),
            _write(out / SYSTEM_IMAGE, _system_image(root)),
        )
    except OSError as error:
        raise UsageError(f"cannot write the stand-in SDK into {out}: {error}") from error


def _emulator(wheelhouse: Path, root: Path) -> Content:
    content = {
        "emulator/emulator": LAUNCHER.encode(),
        "emulator/source.properties": _properties("Simulated phone of emufarm", "emulator"),
    }
    for name, path in source_files(root / PHONE):
        if not name.startswith("system_image/"):  # that is the third zip
            content[f"emulator/lib/simphone/{name}"] = path.read_bytes()
    for project in DRAWING:
        for name, data in _unpacked(wheel(wheelhouse, project)):
            content[f"emulator/lib/{name}"] = data
    return content


def _platform_tools(wheelhouse: Path) -> Content:
    source = wheel(wheelhouse, "adbutils")
    files = dict(_unpacked(source))
    if ADB not in files:
        raise UsageError(f"{source} holds no {ADB}: it is a wheel for another system")
    return {
        "platform-tools/adb": files[ADB],
        "platform-tools/source.properties": _properties(f"adb of {source.name}", "platform-tools"),
    }


def _system_image(root: Path) -> Content:
    folder = root / PHONE / "system_image"
    return {f"x86_64/{name}": path.read_bytes() for name, path in source_files(folder)}


def _properties(what: str, path: str) -> bytes:
    return f"Pkg.Desc={what}\nPkg.Path={path}\n".encode()


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


def _write(path: Path, content: Content) -> Zip:
    write_whole(path, _packed(content))
    return Zip(path, path.stat().st_size, file_sha256(path))


def _packed(content: Content) -> Iterable[bytes]:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(content):
            entry = zipfile.ZipInfo(name, DATE)
            entry.create_system = 3  # Unix: the mode counts
            program = content[name].startswith((b"#!", b"\x7fELF")) and "/lib/" not in name
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            archive.writestr(entry, content[name])
    return [whole.getvalue()]
