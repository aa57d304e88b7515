"""The files, build arguments and tags of image builds.

The engine gets exactly these files, in an archive whose bytes depend on nothing else, so that other
files of a checkout are neither sent nor part of the image.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..errors import UsageError
from ..events.canonical import digest
from ..files import file_sha256, source_files
from ..folders import DATA, PACKAGE, ROOT
from ..pins.profile import FILE, PinnedZip, Profile
from .simphone import SdkZip, StandInSdk
from .wheelhouse import LOCKS

DOCKERFILE = "Dockerfile.emulator"
WORKER_DOCKERFILE = "images/worker/Dockerfile"
NAME, WORKER_NAME = "emufarm-device", "emufarm-worker"
# On the images of all stages before the last; nobody runs them.
STAGE_LABEL = "emufarm.stage"
SYSTEM_IMAGE_FILE, SDK_FILE = "/opt/emufarm/system-image.json", "/opt/emufarm/sdk.json"
_SDK = "images/sdk"  # the stand-in's zips, in the context
_SCRIPTS = (
    "images/fetch.py", "images/compose.py", "images/check_libraries.py", "images/start.py",
    "images/health.py",
)  # fmt: skip
# What compose.py imports of the farm, beside the supervisor's package.
_HASHING = (
    "__init__.py", "errors.py", "events/__init__.py", "events/canonical.py", "pins/__init__.py",
    "files.py", "pins/system_image.py",
)  # fmt: skip
# What the worker image's `pip install` of the package reads, beside its code and profiles.
_INSTALLED = (
    "LICENSE", "README.md", "pyproject.toml", "requirements.in",
    "requirements-simphone.in", "setup.py", *LOCKS,
)  # fmt: skip
_MTIME = 1199145600  # 2008-01-01, as in the stand-in's zips

ContextFiles = Mapping[str, Path]  # name in the context -> the file


@dataclass(frozen=True)
class SdkParts:
    """The three zips of an SDK: where the build finds each, and its checksums."""

    emulator: PinnedZip
    platform_tools: PinnedZip
    system_image: PinnedZip

    @property
    def digest(self) -> str:
        """Over the checksums only: the same zip from another address is the same SDK."""
        zips = (self.emulator, self.platform_tools, self.system_image)
        return digest([[part.sha1, part.sha256] for part in zips])


def parts(profile: Profile, standin: StandInSdk | None = None) -> SdkParts:
    """The profile's own zips, or the stand-in's. UsageError where the profile has no SDK."""
    sdk = profile.sdk
    if sdk is None:
        raise UsageError(f"the profile {profile.name} names no sdk: there is no image to build")
    if sdk.emulator and sdk.platform_tools and sdk.system_image:
        return SdkParts(sdk.emulator, sdk.platform_tools, sdk.system_image)
    if standin is None:
        raise UsageError(f"the profile {profile.name} is built with the stand-in SDK: give one")
    return SdkParts(
        _in_context(standin.emulator),
        _in_context(standin.platform_tools),
        _in_context(standin.system_image),
    )


def _in_context(made: SdkZip) -> PinnedZip:
    return PinnedZip(
        url=f"file:///build/{_SDK}/{made.path.name}", size=made.size, sha256=made.sha256
    )


def tag(profile: Profile) -> str:
    """The tag names one profile's digest; it is never `latest`."""
    return f"{NAME}-{profile.name}:{profile.version}-{profile.digest[:12]}"


def build_args(
    profile: Profile, sdk: SdkParts, *, base_image: str, revision: str, version: str,
    accept_licence: bool = False,
) -> dict[str, str]:  # fmt: skip
    """Every ARG of Dockerfile.emulator."""
    arguments = {
        "BASE_IMAGE": base_image,
        "RUNTIME_PACKAGES": " ".join(profile.sdk.packages) if profile.sdk else "",
        "LICENCE": profile.licence or "",
        "ACCEPT_ANDROID_SDK_LICENSE": "yes" if accept_licence else "no",
        "PROFILE_NAME": profile.name,
        "PROFILE_VERSION": profile.version,
        "PROFILE_DIGEST": profile.digest,
        "PROFILE_SYSTEM_IMAGE": profile.system_image,
        "PROFILE_AVD": json.dumps(profile.avd, sort_keys=True),
        "PROFILE_EMULATOR": json.dumps(profile.emulator),
        "PROFILE_SNAPSHOT": profile.snapshot,
        "PROFILE_KVM": "yes" if profile.kvm else "no",
        "PROFILE_DISK_MB": str(profile.resources.disk_mb),
        "SDK_DIGEST": sdk.digest,
        "REVISION": revision,
        "VERSION": version,
    }
    for prefix, part in (
        ("EMULATOR", sdk.emulator),
        ("PLATFORM_TOOLS", sdk.platform_tools),
        ("SYSTEM_IMAGE", sdk.system_image),
    ):
        arguments[f"{prefix}_URL"] = part.url
        arguments[f"{prefix}_SIZE"] = str(part.size or "")
        arguments[f"{prefix}_SHA1"] = part.sha1 or ""
        arguments[f"{prefix}_SHA256"] = part.sha256 or ""
    return arguments


def context(standin: StandInSdk | None = None) -> ContextFiles:
    """The files of a device image's build."""
    files = {name: ROOT / name for name in (DOCKERFILE, *_SCRIPTS)}
    files |= {f"orchestrator/{name}": PACKAGE / name for name in _HASHING}
    files |= _below("orchestrator/supervisor", source_files(PACKAGE / "supervisor"))
    if standin is not None:
        for made in (standin.emulator, standin.platform_tools, standin.system_image):
            files[f"{_SDK}/{made.path.name}"] = made.path
    return files


def worker_context(wheelhouse: Path) -> ContextFiles:
    """The files of the worker image's build."""
    files = {name: ROOT / name for name in (WORKER_DOCKERFILE, *_INSTALLED)}
    code = (item for item in source_files(PACKAGE) if not item[0].startswith(f"{DATA}/"))
    files |= _below("orchestrator", code)
    files |= {f"images/{p.parent.name}/{FILE}": p for p in (ROOT / "images").glob(f"*/{FILE}")}
    files |= {f"wheelhouse/{path.name}": path for path in wheelhouse.iterdir()}
    return files


def files_digest(files: ContextFiles) -> str:
    """One digest over every name and content that an engine is sent."""
    return digest({name: file_sha256(path) for name, path in files.items()})


def worker_tag(files: ContextFiles, version: str) -> str:
    return f"{WORKER_NAME}:{version}-{files_digest(files)[:12]}"


def worker_build_args(
    files: ContextFiles, *, base_image: str, revision: str, version: str
) -> dict[str, str]:
    return {
        "BASE_IMAGE": base_image,
        "CODE_DIGEST": files_digest(files),
        "REVISION": revision,
        "VERSION": version,
    }


def pack(files: ContextFiles, out: IO[bytes]) -> None:
    """Write the tar that an engine takes as a build's context; equal files give equal bytes."""
    try:
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name in sorted(files):
                entry = tarfile.TarInfo(name)
                entry.size = files[name].stat().st_size
                entry.mtime, entry.mode = _MTIME, 0o644
                with files[name].open("rb") as file:
                    archive.addfile(entry, file)
    except FileNotFoundError as error:
        raise UsageError(f"{error.filename} is missing, and images are built with it") from error


def _below(prefix: str, files: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    return {f"{prefix}/{name}": path for name, path in files}
