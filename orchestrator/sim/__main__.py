"""`python -m orchestrator.sim`: the simulated phone, with the emulator's command line."""

from __future__ import annotations

import sys

from .emulator import main

sys.exit(main(sys.argv[1:]))
