"""A simulated phone with a fault of real ones: it boots cold instead of loading a snapshot."""

from __future__ import annotations

import os
import sys

words = sys.argv[1:]
if "-snapshot" in words:
    at = words.index("-snapshot")
    words[at : at + 2] = []
    words.remove("-force-snapshot-load")
os.execv(sys.executable, [sys.executable, "-m", "simphone", *words])
