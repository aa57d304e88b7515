"""The strict model that all records of a case file derive from; unknown keys are refused."""

from __future__ import annotations

import re
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

NAME = r"^[a-z][a-z0-9_]*$"
Name = Annotated[str, Field(pattern=NAME)]
# Keys that may accompany the one that says which kind a record is.
_OPTIONS = frozenset({"name", "settle", "watch"})
M = TypeVar("M", bound=BaseModel)


class Strict(BaseModel):
    # No NaN, because a plan is canonical JSON.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def check_pattern(pattern: str) -> None:
    if "{{" in pattern:
        return  # checked again once it is rendered
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error


def exactly_one(model: M) -> M:
    chosen = _chosen(model)
    if len(chosen) != 1:
        known = [name for name in type(model).model_fields if name not in _OPTIONS]
        raise ValueError(f"write exactly one of {', '.join(known)}; found {chosen or 'none'}")
    return model


def kind_of(model: BaseModel) -> str:
    return _chosen(model)[0]


def _chosen(model: BaseModel) -> list[str]:
    names = [name for name in type(model).model_fields if name not in _OPTIONS]
    return [name for name in names if getattr(model, name) is not None]
