"""Local fleets whose workers are stand-ins, and the processes that they have on this machine.

As a program it is a fleet to be killed: `local_trial.py GOLDEN_HOME AVD SNAPSHOT TMP COUNT` prints
its work folder, then `up` once every pair has its worker.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

from orchestrator.farm.simulated_phone import simulator
from orchestrator.fleet.local.backend import LocalBackend
from orchestrator.fleet.local.device import Golden
from orchestrator.fleet.local.work_folder import work_folder
from tests.fleet.contract import Trial

STAND_IN = (sys.executable, str(Path(__file__).with_name("stand_in_worker.py")))


def local_backend(golden: Golden, phone: str = "phone") -> LocalBackend:
    words = ("/no/such/emulator",) if phone == "broken" else tuple(simulator())
    return LocalBackend(
        golden, Path("image.lock.json"), words, "sim-api34", worker=STAND_IN, seal_s=0.5
    )


class LocalTrial(Trial):
    leaves = False

    def __init__(self, folder: Path, golden: Golden) -> None:
        super().__init__(folder / "run", folder / "work")
        self._golden = golden

    def backend(self, phone: str = "phone") -> LocalBackend:
        return local_backend(self._golden, phone)

    def output(self, slot: str) -> str:
        log = self.run / "logs" / f"{slot}.worker.log"
        return log.read_text() if log.exists() else ""

    def worker(self, slot: str) -> int:
        """The pid of its last one."""
        return int(re.findall(r"at work, pid (\d+)", self.output(slot))[-1])

    def process(self, slot: str, word: str) -> int:
        """The pid of the process of its device whose first words have this one."""
        found = processes_of(self.work / f"{slot}.1")
        (pid,) = (pid for pid, words in found.items() if word in " ".join(words.split()[:4]))
        return pid

    def kill_worker(self, slot: str) -> None:
        os.kill(self.worker(slot), signal.SIGKILL)

    def kill_device(self, slot: str) -> None:
        os.kill(self.process(slot, "simphone"), signal.SIGKILL)

    def crash_device(self, slot: str) -> None:
        os.kill(self.process(slot, "simphone"), signal.SIGSEGV)

    def left(self) -> list[str]:
        copies = [path.name for path in self.work.iterdir() if path.is_dir()]
        return [*copies, *processes_of(self.run).values(), *processes_of(self.work).values()]


def processes_of(folder: Path) -> dict[int, str]:
    """Every living process that was started with a path below this folder, by its pid."""
    found, needle = {}, str(folder).encode()
    for place in Path("/proc").iterdir():
        if place.name.isdecimal() and int(place.name) != os.getpid():
            try:
                words = (place / "cmdline").read_bytes()
                told = words + (place / "environ").read_bytes()
            except OSError:  # it ended while we looked
                continue
            if words and needle in told:  # a zombie has no words
                found[int(place.name)] = words.replace(b"\0", b" ").decode("utf-8", "replace")
    return found


async def main(home: str, avd: str, snapshot: str, tmp: str, count: str) -> None:
    this = asyncio.current_task()
    assert this is not None
    # asyncio's own handler may be heard only with the loop's next event; this one wakes it.
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, this.cancel)
    trial = LocalTrial(Path(tmp), Golden(Path(home), avd, snapshot))
    with work_folder(Path(tmp)) as trial.work:
        print(trial.work, flush=True)
        async with trial.fleet("wait 0", devices=int(count)) as fleet:
            await trial.working(*(f"slot-{number:02d}.1" for number in range(int(count))))
            print("up", flush=True)
            await fleet.ended()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
