"""How a script leaves where it stands: exit, return, break, continue."""

from __future__ import annotations


class Exit(Exception):
    """The shell ends with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code & 0xFF


class Return(Exit):
    """A function or a sourced file ends; outside of both, the shell does."""


class Jump(Exception):
    """`break` or `continue`: `levels` loops are left, the last one may go on."""

    def __init__(self, levels: int, *, again: bool) -> None:
        super().__init__(levels)
        self.levels = levels
        self.again = again
