"""The callback that takes one line of progress for a person to read."""

from __future__ import annotations

from collections.abc import Callable

Notify = Callable[[str], None]
