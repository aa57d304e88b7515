"""What every record of a case file has in common: nothing unknown is let through."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

NAME = r"^[a-z][a-z0-9_]*$"
Name = Annotated[str, Field(pattern=NAME)]


class Strict(BaseModel):
    # Without NaN: a plan is canonical JSON.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
