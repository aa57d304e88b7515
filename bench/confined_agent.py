"""Measures what confining a `command:` agent costs at its start, against starting it unconfined.

The same agent, started and asked for its `ready` in turns; the ratio is of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from orchestrator.agent.command_agent import CommandAgent
from orchestrator.agent.confinement import Confinement, Unconfined, confinement

PROGRAM = Path(__file__).parents[1] / "examples" / "command_agent.py"


def started_s(confined: Confinement | None) -> float:
    agent = CommandAgent((sys.executable, str(PROGRAM)), confined)
    began = time.perf_counter()
    try:
        agent.start("Do it.", 60.0)
        return time.perf_counter() - began
    finally:
        agent.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=30)
    times = parser.parse_args().times
    began = time.perf_counter()
    found = confinement((sys.executable, str(PROGRAM)))
    if isinstance(found, Unconfined):
        sys.exit(found.sentence)
    print(f"trying it once           {(time.perf_counter() - began) * 1000:7.1f} ms")
    pairs = [(started_s(None), started_s(found)) for _ in range(times)]
    plain, confined = (statistics.median(each) * 1000 for each in zip(*pairs, strict=True))
    print(f"unconfined, median       {plain:7.1f} ms")
    print(f"confined, median         {confined:7.1f} ms")
    print(f"ratio                    {confined / plain:7.2f}")


if __name__ == "__main__":
    main()
