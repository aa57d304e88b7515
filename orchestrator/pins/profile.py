"""What is an image made of? `images/<name>/profile.yaml`, checked, with its digest."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import UsageError
from ..events.canonical import digest

FILE = "profile.yaml"
IMAGES_VARIABLE = "EMUFARM_IMAGES"
# Beside the package in a checkout.
_IMAGES = Path(__file__).resolve().parents[2] / "images"

Namespace = Literal["system", "secure", "global"]
# The console quotes nothing, so a tag is one plain word.
Tag = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Seconds = Annotated[float, Field(ge=0, le=600)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Bake(_Strict):
    """What is done to a booted phone before it is saved."""

    rest_s: Seconds = 30.0  # the emulator itself still writes settings after a boot
    settings: dict[Namespace, dict[str, str]] = {}


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

    @property
    def digest(self) -> str:
        """Over every value, written or defaulted; the file's comments and order are no part."""
        return digest(self.model_dump(mode="json"))


def images_folder(environ: Mapping[str, str] = os.environ) -> Path:
    named = environ.get(IMAGES_VARIABLE)
    return Path(named) if named else _IMAGES


def profiles(images: Path) -> list[str]:
    """The names of those there are."""
    return sorted(found.parent.name for found in images.glob(f"*/{FILE}"))


def load_profile(name: str, images: Path | None = None) -> Profile:
    """UsageError, in one sentence, where there is none of this name or its file is wrong."""
    folder = images_folder() if images is None else images
    there = profiles(folder)
    if name not in there:
        known = f"choose one of {', '.join(there)}" if there else f"there are none in {folder}"
        raise UsageError(f"there is no profile {name!r}: {known}")
    path = folder / name / FILE
    try:
        profile = Profile.model_validate(_read(path))
    except ValidationError as error:
        raise UsageError(f"{path}: {_sentence(error)}") from error
    if profile.name != name:
        raise UsageError(f"{path}: its name is {profile.name!r}, but its folder is {name!r}")
    return profile


class _Loader(yaml.SafeLoader):
    """Safe YAML in which a key written twice is a mistake, not the last one's victory."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key, _ in node.value:
            value = self.construct_object(key, deep=True)
            if not isinstance(value, Hashable) or value in seen:
                text = f"{value!r} is written twice" if value else "a key is no plain word"
                raise yaml.MarkedYAMLError(problem=text, problem_mark=key.start_mark)
            seen.add(value)
        return super().construct_mapping(node, deep)


def _read(path: Path) -> object:
    try:
        # _Loader is a SafeLoader.
        return yaml.load(path.read_text("utf-8"), _Loader)  # noqa: S506
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"{path}{line}: {error.problem}") from error
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _sentence(error: ValidationError) -> str:
    """Every mistake at once, each by its key."""
    mistakes = []
    for one in error.errors():
        where = ".".join(str(part) for part in one["loc"]) or "the file"
        hint = " (put it in quotes)" if one["type"] == "string_type" else ""
        what = "is not a key of a profile" if one["type"] == "extra_forbidden" else one["msg"]
        mistakes.append(f"{where}: {what}{hint}")
    return "; ".join(mistakes)
