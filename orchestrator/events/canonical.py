"""Canonical JSON: one spelling for every value, so that equal values have equal digests."""

from __future__ import annotations

import hashlib
import json
from typing import Any

Json = Any


def canonical(value: Json) -> bytes:
    """Sorted keys, no spaces, UTF-8 unescaped; NaN and infinities are refused."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8", "surrogatepass")


def digest(value: Json) -> str:
    """sha256, in hex, of the canonical spelling."""
    return hashlib.sha256(canonical(value)).hexdigest()
