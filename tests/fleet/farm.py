"""A fleet as a program, to be killed: `farm.py GOLDEN_HOME AVD SNAPSHOT TMP COUNT`.

Prints the work folder, then the word `up` once every pair has its worker.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from orchestrator.device.adb import adb_binary
from orchestrator.farm.simulated_phone import simulator
from orchestrator.fleet.local.device import Golden
from orchestrator.fleet.local.fleet import LocalFleet
from orchestrator.fleet.local.pair import Pair, Terms
from orchestrator.fleet.local.work_folder import work_folder

STAND_IN = Path(__file__).with_name("stand_in_worker.py")


async def main(home: str, avd: str, snapshot: str, tmp: str, count: str) -> None:
    this = asyncio.current_task()
    assert this is not None
    # asyncio's own handler may be heard only with the loop's next event; this one wakes it.
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, this.cancel)
    up: set[str] = set()

    def command(pair: Pair) -> list[str]:
        up.add(pair.slot)
        if len(up) == int(count):
            print("up", flush=True)
        return [sys.executable, str(STAND_IN), str(pair.staging), "wait", "0"]

    with work_folder(Path(tmp)) as work:
        print(work, flush=True)
        terms = Terms(
            golden=Golden(Path(home), avd, snapshot),
            emulator=lambda number: simulator(),
            adb=adb_binary(),
            worker_command=command,
            device_env=dict(os.environ),
            worker_env=dict(os.environ),
            work=work,
            staging=Path(tmp) / "staging",
            logs=Path(tmp) / "logs",
            starts=1,
            last_word_s=0.5,
            seal_s=0.5,
        )
        async with LocalFleet(int(count), terms, print) as fleet:
            await fleet.ended()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
