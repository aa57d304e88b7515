"""Names the exit codes of all commands; each command chooses its own."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    NO = 1  # the command worked, and its answer is no: a finding, a difference, a score below
    USAGE = 2  # the request cannot work; nothing was started
    INFRASTRUCTURE = 20  # infrastructure kept the command from completing
    INTERRUPTED = 130  # Ctrl-C or SIGTERM
