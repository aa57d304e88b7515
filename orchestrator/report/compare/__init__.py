"""Compares two runs of the same episodes, figure by figure."""

from __future__ import annotations

from .comparison import Comparison, Wanted, compare
from .pairing import side

__all__ = ["Comparison", "Wanted", "compare", "side"]
