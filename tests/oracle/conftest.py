"""One booted phone for the session, reset to its baked state before each test."""

from __future__ import annotations

from tests.whole.conftest import booted, phone

__all__ = ["booted", "phone"]
