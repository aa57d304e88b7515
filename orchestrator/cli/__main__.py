"""`python -m orchestrator.cli`: the command line, for processes that the farm starts."""

from __future__ import annotations

from . import main

if __name__ == "__main__":
    main()
