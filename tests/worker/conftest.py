"""A baked phone, and a coordinator with a run for it."""

from __future__ import annotations

from tests.coordinator.conftest import served
from tests.episode.conftest import image, recipe, stages_phone

__all__ = ["image", "recipe", "served", "stages_phone"]
