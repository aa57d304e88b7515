"""An idle phone stays small after it was looked at: pictures go back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

GROWTH_MB = 8
# Several threads, because glibc keeps an arena for each.
LOOKS = """
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from simphone.emulator_process import _bound_resources
from simphone.ui.draw import png
from simphone.ui.node import SCREEN, Fill, Node

def resident_mb():
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) / 1024

_bound_resources()
roots = [Node(SCREEN, paint=(Fill("#336699"),))]
png(roots)
before = resident_mb()
with ThreadPoolExecutor(3) as pool:
    list(pool.map(png, [roots] * 24))
    print(resident_mb() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_pictures_leave_nothing_behind() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOKS], capture_output=True, check=True, timeout=240, text=True
    )
    assert float(done.stdout) < GROWTH_MB
