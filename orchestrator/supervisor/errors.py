"""What the supervisor cannot go on from."""

from __future__ import annotations


class SupervisorError(Exception):
    """One sentence for whoever reads the device's last line."""
