"""One booted phone for the session, as it was baked before each test."""

from __future__ import annotations

from tests.whole.conftest import booted, phone

__all__ = ["booted", "phone"]
