"""What every part of the phone's memory can do: be written to a snapshot, and come back."""

from __future__ import annotations

from typing import Any, Protocol

# Plain JSON, as it stands in a snapshot's ram.bin.
Json = Any


class Part(Protocol):
    """A piece of volatile state. `load(save())` must leave it as it was."""

    def save(self) -> Json: ...

    def load(self, state: Json) -> None: ...
