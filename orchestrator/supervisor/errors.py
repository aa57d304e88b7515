"""The supervisor's error."""

from __future__ import annotations


class SupervisorError(Exception):
    """The supervisor cannot continue; its text is the last line of its output."""
