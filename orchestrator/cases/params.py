"""A case's params, and the values that an episode's seed draws for them.

A value depends only on the seed and the param's name, so adding a param changes no other value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, timedelta
from string import ascii_lowercase
from typing import Annotated, Any

from pydantic import BaseModel, Discriminator, Field, Tag, model_validator

from ..events.canonical import canonical
from .strict import Strict


class Choice(Strict):
    choice: list[str | int] = Field(min_length=1)


class WholeNumber(Strict):
    """A whole number from low to high, both included."""

    int_: tuple[int, int] = Field(alias="int")

    @model_validator(mode="after")
    def ordered(self) -> WholeNumber:
        if self.int_[0] > self.int_[1]:
            raise ValueError("the span is empty; write the lower number first")
        return self


class Digits(Strict):
    """This many digits, the first not 0."""

    digits: int = Field(ge=1, le=18)


class Letters(Strict):
    """This many lower-case letters."""

    letters: int = Field(ge=1, le=40)


class Day(Strict):
    """An ISO date from first to last, both included."""

    date: tuple[str, str]

    @model_validator(mode="after")
    def ordered(self) -> Day:
        try:
            first, last = (date.fromisoformat(day) for day in self.date)
        except ValueError as error:
            raise ValueError(f"{error}; write dates like '2031-05-12'") from error
        if first > last:
            raise ValueError("the span is empty; write the earlier date first")
        return self


def _param_kind(value: Any) -> str | None:
    """The key that says which kind of param this is."""
    keys = value.model_dump(by_alias=True) if isinstance(value, BaseModel) else value
    known = ("choice", "int", "digits", "letters", "date")
    kinds = [kind for kind in known if isinstance(keys, dict) and kind in keys]
    return kinds[0] if len(kinds) == 1 else None


Param = Annotated[
    Annotated[Choice, Tag("choice")]
    | Annotated[WholeNumber, Tag("int")]
    | Annotated[Digits, Tag("digits")]
    | Annotated[Letters, Tag("letters")]
    | Annotated[Day, Tag("date")],
    Discriminator(
        _param_kind,
        custom_error_type="param",
        custom_error_message="not a param; write one of {choice: [A, B]}, {int: [LOW, HIGH]}, "
        "{digits: COUNT}, {letters: COUNT}, {date: [FIRST, LAST]}",
    ),
]


def draw(params: Mapping[str, Param], seed: int, label: str = "case") -> dict[str, str | int]:
    """A value for each param. `label` separates the draws of an attack from those of its case."""
    return {name: _value(param, _number(label, seed, name)) for name, param in params.items()}


def _number(label: str, seed: int, name: str) -> int:
    """256 bits, so that the bias of a remainder is negligible for every range used here."""
    return int.from_bytes(hashlib.sha256(canonical([label, seed, name])).digest())


def _value(param: Param, number: int) -> str | int:
    if isinstance(param, Choice):
        return param.choice[number % len(param.choice)]
    if isinstance(param, WholeNumber):
        low, high = param.int_
        return low + number % (high - low + 1)
    if isinstance(param, Digits):
        least = 10 ** (param.digits - 1)
        return str(least + number % (9 * least))
    if isinstance(param, Letters):
        return "".join(ascii_lowercase[number // 26**place % 26] for place in range(param.letters))
    first, last = (date.fromisoformat(day) for day in param.date)
    return (first + timedelta(days=number % ((last - first).days + 1))).isoformat()
