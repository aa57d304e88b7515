"""The strict model that all records of a case file derive from; unknown keys are refused."""

from __future__ import annotations

import re
import warnings
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

NAME = r"^[a-z][a-z0-9_]*$"
Name = Annotated[str, Field(pattern=NAME)]
# Keys that may accompany the one that says which kind a record is.
_OPTIONS = frozenset({"name", "settle", "watch"})


class Strict(BaseModel):
    # No NaN, because a plan is canonical JSON.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class OneOf(Strict):
    """A record with exactly one of its keys, besides the options."""

    @model_validator(mode="after")
    def one(self) -> Self:
        known = [name for name in type(self).model_fields if name not in _OPTIONS]
        chosen = [name for name in known if getattr(self, name) is not None]
        if len(chosen) != 1:
            raise ValueError(f"write exactly one of {', '.join(known)}; found {chosen or 'none'}")
        return self

    @property
    def kind(self) -> str:
        """The key that was written."""
        names = (name for name in type(self).model_fields if name not in _OPTIONS)
        return next(name for name in names if getattr(self, name) is not None)


def _compiles(pattern: str) -> str:
    try:
        if "{{" not in pattern:  # a template is checked again once it is rendered
            with warnings.catch_warnings():  # what another Python may read otherwise is refused
                warnings.simplefilter("error", FutureWarning)
                re.compile(pattern)
    except (re.error, RecursionError, OverflowError, FutureWarning) as error:
        raise ValueError(f"{pattern[:80]!r} is not a regular expression: {error}") from error
    return pattern


RegularExpression = Annotated[str, AfterValidator(_compiles)]
