"""`python -m simphone`: the same as the `simphone` program."""

from __future__ import annotations

from .command import program

program()
