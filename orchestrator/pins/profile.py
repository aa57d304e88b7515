"""The model of a profile (`images/<name>/profile.yaml`), how it is loaded, and its digest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..errors import UsageError, did_you_mean
from ..events.canonical import digest
from ..folders import ROOT
from .strict_yaml import read_model

FILE = "profile.yaml"
IMAGES_VARIABLE = "EMUFARM_IMAGES"

Namespace = Literal["system", "secure", "global"]
# The console has no quoting, so a tag has no spaces.
Tag = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Seconds = Annotated[float, Field(ge=0, le=600)]
# A file: URL is in the build's context, as the stand-in SDK is.
Url = Annotated[str, Field(pattern=r"^(https?://[^\s/]+/|file:///)\S+$")]
Sha1 = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Package = Annotated[str, Field(pattern=r"^[A-Za-z]\w*(\.[A-Za-z]\w*)+$")]
# The build passes these names to a shell.
DebianPackage = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]
# The emulator's liveness monitor may delete this snapshot.
_UNSAFE_TAG = "default_boot"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Bake(_Strict):
    """What the bake does to a booted phone before saving it."""

    rest_s: Seconds = 30.0  # the emulator still writes settings after a boot
    settings: dict[Namespace, dict[str, str]] = {}


class PinnedZip(_Strict):
    """A zip of the SDK, with the checksums that are verified before it is unpacked."""

    url: Url
    size: Annotated[int, Field(ge=1)] | None = None
    sha1: Sha1 | None = None
    sha256: Sha256 | None = None

    @model_validator(mode="after")
    def _checkable(self) -> Self:
        if self.sha1 is None and self.sha256 is None:
            why = "a zip that cannot be checked is not unpacked"
            raise ValueError(f"write its sha1 or sha256: {why}")
        return self


class Sdk(_Strict):
    """Three zips, or the stand-in SDK that is packed from the simulated phone."""

    standin: bool = False
    emulator: PinnedZip | None = None
    platform_tools: PinnedZip | None = None
    system_image: PinnedZip | None = None
    packages: list[DebianPackage] = []  # with the libraries that the emulator is linked to

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        given = [self.emulator, self.platform_tools, self.system_image]
        if self.standin and any(given):
            raise ValueError("a stand-in SDK has no zips to download: write the zips or standin")
        if not self.standin and not all(given):
            raise ValueError("write emulator, platform_tools and system_image, or standin: true")
        return self


class Apk(_Strict):
    """An app that the bake installs before it saves the first snapshot."""

    url: Url
    sha256: Sha256
    package: Package
    version: str
    grants: list[str] = []  # permissions, by their full names


class Resources(_Strict):
    """The limits of one device, and the disk space that it needs."""

    cpus: Annotated[float, Field(gt=0, le=64)] = 4.0
    memory_mb: Annotated[int, Field(ge=256)] = 8192
    pids: Annotated[int, Field(ge=64)] = 2048
    disk_mb: Annotated[int, Field(ge=1)] = 16384  # free space for the private AVD


class BakeStep(_Strict):
    """A shell command on the phone, and a second one whose output proves its effect."""

    run: Annotated[str, Field(min_length=1)]
    ask: Annotated[str, Field(min_length=1)]
    want: str  # the whole output, stripped


class Snapshot(_Strict):
    """A snapshot to save, and the steps that are done after `bake` and before saving."""

    tag: Tag
    setup: list[BakeStep] = []


class Profile(_Strict):
    """Everything that an image is made of, each part pinned."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    version: str
    api_level: Annotated[int, Field(ge=26, le=99)]
    system_image: str
    avd: dict[str, str]  # config.ini, by its own keys
    emulator: list[str]  # arguments of every start; the farm adds AVD, ports and snapshot
    snapshot: Tag
    settle_s: Seconds
    loads: Annotated[int, Field(ge=1, le=60)]  # an emulator was seen to die after 64
    roles: dict[str, str]  # the name that cases use for an app -> its package
    bake: Bake = Bake()
    sdk: Sdk | None = None  # None: this profile has no container image
    licence: Annotated[str, Field(min_length=1)] | None = None  # a person accepts it at each build
    kvm: bool = False
    resources: Resources = Resources()
    apks: list[Apk] = []
    snapshots: list[Snapshot] = []  # empty: only `snapshot`, set up by `bake`

    @model_validator(mode="after")
    def _tags(self) -> Self:
        tags = [one.tag for one in self.snapshots]
        if len(set(tags)) != len(tags):
            raise ValueError("two snapshots have the same tag")
        if _UNSAFE_TAG in (self.snapshot, *tags):
            raise ValueError(f"a snapshot cannot be called {_UNSAFE_TAG}: the emulator deletes it")
        if tags and self.snapshot not in tags:
            raise ValueError(f"snapshot is {self.snapshot!r}, which is not among the snapshots")
        return self

    @property
    def baked(self) -> list[Snapshot]:
        """Every snapshot of the image, in the order in which the bake saves them."""
        return self.snapshots or [Snapshot(tag=self.snapshot)]

    @property
    def simulated(self) -> bool:
        """Whether this profile describes the simulated phone."""
        return self.sdk is None or self.sdk.standin

    @property
    def digest(self) -> str:
        """Over every value, written or default, without the file's comments and order."""
        return digest(self.model_dump(mode="json"))


def images_folder(environ: Mapping[str, str] = os.environ) -> Path:
    named = environ.get(IMAGES_VARIABLE)
    return Path(named) if named else ROOT / "images"


def profile_names(images: Path) -> list[str]:
    """The names of all profiles in a folder."""
    return sorted(found.parent.name for found in images.glob(f"*/{FILE}"))


def load_profile(name: str, images: Path | None = None) -> Profile:
    """Raises UsageError where there is no profile of this name, or its file is wrong."""
    folder = images_folder() if images is None else images
    there = profile_names(folder)
    if name not in there:
        names = f"choose one of {', '.join(there)}" if there else f"{folder} has no profiles"
        raise UsageError(f"there is no profile {name!r}; {did_you_mean(name, there, names)}")
    path = folder / name / FILE
    profile = read_model(path, Profile, "a profile")
    if profile.name != name:
        raise UsageError(f"{path}: its name is {profile.name!r}, but its folder is {name!r}")
    return profile
