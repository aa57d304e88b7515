"""What is an image made of? `images/<name>/profile.yaml`, checked, with its digest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..errors import UsageError, did_you_mean
from ..events.canonical import digest
from ..shipped import ROOT
from .strict_yaml import read_yaml, validation_message

FILE = "profile.yaml"
IMAGES_VARIABLE = "EMUFARM_IMAGES"

Namespace = Literal["system", "secure", "global"]
# The console quotes nothing, so a tag is one plain word.
Tag = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Seconds = Annotated[float, Field(ge=0, le=600)]
# A file: address lies in the build's context, as the stand-in SDK does.
Url = Annotated[str, Field(pattern=r"^(https?://[^\s/]+/|file:///)\S+$")]
Sha1 = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Package = Annotated[str, Field(pattern=r"^[A-Za-z]\w*(\.[A-Za-z]\w*)+$")]
# Goes into a shell's word list while the image is built.
DebianPackage = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]
# A liveness monitor of the emulator may delete it.
_UNSAFE_TAG = "default_boot"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Bake(_Strict):
    """What is done to a booted phone before it is saved."""

    rest_s: Seconds = 30.0  # the emulator itself still writes settings after a boot
    settings: dict[Namespace, dict[str, str]] = {}


class PinnedZip(_Strict):
    """A zip of the SDK, by what it must be before anything of it is unpacked."""

    url: Url
    size: Annotated[int, Field(ge=1)] | None = None
    sha1: Sha1 | None = None
    sha256: Sha256 | None = None

    @model_validator(mode="after")
    def _checkable(self) -> Self:
        if self.sha1 is None and self.sha256 is None:
            raise ValueError("give its sha1 or its sha256: what cannot be checked is not unpacked")
        return self


class Sdk(_Strict):
    """Three zips, or the stand-in that `emufarm sim sdk` makes of the simulated phone."""

    standin: bool = False
    emulator: PinnedZip | None = None
    platform_tools: PinnedZip | None = None
    system_image: PinnedZip | None = None
    packages: list[DebianPackage] = []  # what the emulator's programs are linked to

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        given = [part is not None for part in (self.emulator, self.platform_tools)]
        given.append(self.system_image is not None)
        if self.standin and any(given):
            raise ValueError("a stand-in SDK has no parts to download: name the parts or standin")
        if not self.standin and not all(given):
            raise ValueError("name emulator, platform_tools and system_image, or standin: true")
        return self


class Apk(_Strict):
    """An app that is installed before the first snapshot is saved."""

    url: Url
    sha256: Sha256
    package: Package
    version: str
    grants: list[str] = []  # permissions, by their full names


class Resources(_Strict):
    """What one device may use, and must have."""

    cpus: Annotated[float, Field(gt=0, le=64)] = 4.0
    memory_mb: Annotated[int, Field(ge=256)] = 8192
    pids: Annotated[int, Field(ge=64)] = 2048
    disk_mb: Annotated[int, Field(ge=1)] = 16384  # free, where the private AVD will stand


class BakeStep(_Strict):
    """A shell command on the phone, and the question that tells whether it took effect."""

    run: Annotated[str, Field(min_length=1)]
    ask: Annotated[str, Field(min_length=1)]
    want: str  # the whole answer, stripped


class Snapshot(_Strict):
    """One state to save: what is done to the phone, after `bake`, before it is."""

    tag: Tag
    setup: list[BakeStep] = []


class Profile(_Strict):
    """Everything that makes two phones of one image equal."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    version: str
    api_level: Annotated[int, Field(ge=26, le=99)]
    system_image: str
    avd: dict[str, str]  # config.ini, by its own keys
    emulator: list[str]  # arguments of every start; AVD, ports and snapshot are added
    snapshot: Tag
    settle_s: Seconds
    loads: Annotated[int, Field(ge=1, le=60)]  # an emulator has been seen to die after 64
    roles: dict[str, str]  # a case's word for an app -> its package
    bake: Bake = Bake()
    sdk: Sdk | None = None  # without one there is no container image of this profile
    licence: Annotated[str, Field(min_length=1)] | None = None  # a person accepts it at each build
    kvm: bool = False
    resources: Resources = Resources()
    apks: list[Apk] = []
    snapshots: list[Snapshot] = []  # none: `snapshot` alone, set up as `bake` says

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
        """Every snapshot of the image, in the order they are saved."""
        return self.snapshots or [Snapshot(tag=self.snapshot)]

    @property
    def simulated(self) -> bool:
        """Whether the phone that comes with this code is what it describes."""
        return self.sdk is None or self.sdk.standin

    @property
    def digest(self) -> str:
        """Over every value, written or defaulted; the file's comments and order are no part."""
        return digest(self.model_dump(mode="json"))


def images_folder(environ: Mapping[str, str] = os.environ) -> Path:
    named = environ.get(IMAGES_VARIABLE)
    return Path(named) if named else ROOT / "images"


def profile_names(images: Path) -> list[str]:
    """The names of those there are."""
    return sorted(found.parent.name for found in images.glob(f"*/{FILE}"))


def load_profile(name: str, images: Path | None = None) -> Profile:
    """UsageError, in one sentence, where there is none of this name or its file is wrong."""
    folder = images_folder() if images is None else images
    there = profile_names(folder)
    if name not in there:
        names = f"choose one of {', '.join(there)}" if there else f"{folder} has no profiles"
        raise UsageError(f"there is no profile {name!r}; {did_you_mean(name, there, names)}")
    path = folder / name / FILE
    try:
        profile = Profile.model_validate(read_yaml(path))
    except ValidationError as error:
        raise UsageError(f"{path}: {validation_message(error, 'a profile')}") from error
    if profile.name != name:
        raise UsageError(f"{path}: its name is {profile.name!r}, but its folder is {name!r}")
    return profile
