"""Measures the time and CPU that the harness adds to the phone's own, per step and per attempt.

    .venv/bin/python bench/harness.py [--repeats 2] [-k 'smoke or note_create or sms_reply']

Runs the real worker in this process on one simulated phone, and the real coordinator in another
process. `Device.listen` measures the time spent waiting for the phone, the time stamps in the
bundles delimit the steps, and the kernel counts the CPU time. Compare lines of one run with each
other, not runs with each other: machines are noisy.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any, TypeAlias

from orchestrator.cases.load import load_cases
from orchestrator.coordinator import chain
from orchestrator.coordinator.client import CoordinatorClient
from orchestrator.coordinator.credentials import Secrets, WorkerKey
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.coordinator.transitions import AttemptCommitted, LeaseGranted
from orchestrator.device.adb import adb_binary
from orchestrator.device.adb_socket import Exchange
from orchestrator.device.phone import Device
from orchestrator.fleet.local.boot import boot
from orchestrator.fleet.local.device import LocalDevice
from orchestrator.fleet.local.environment import device_env
from orchestrator.image.embedded import embedded_image
from orchestrator.image.simphone import simphone
from orchestrator.outcome import Outcome
from orchestrator.pins.profile import Profile, load_profile
from orchestrator.plan.plan import Plan, build
from orchestrator.settings import RunSettings
from orchestrator.worker.loop import Worker

ROOT = Path(__file__).resolve().parents[1]
SOME = "wifi_off or note_create or sms_reply or file_total"
KEY, SLOT = WorkerKey("bench"), "slot-00.1"

Urls: TypeAlias = "Queue[str]"


@dataclass(frozen=True)
class Mark:
    """One exchange with the phone, and the accounts when it ended."""

    at_ms: float
    waited: float  # seconds, for the phone's answer
    own_cpu: float  # the worker's thread, so far
    phone_cpu: float  # the emulator's process, so far


class Account:
    """What the worker's thread is waiting for, while it runs."""

    def __init__(self, pid: int) -> None:
        self._stat = Path(f"/proc/{pid}/stat")
        self.marks: list[Mark] = []

    def hear(self, exchange: Exchange) -> None:
        fields = self._stat.read_text().rpartition(")")[2].split()
        phone = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        self.marks.append(Mark(time.time() * 1000, exchange.seconds, time.thread_time(), phone))

    def within(self, start: float, end: float) -> list[Mark]:
        """Those after a time stamp of whole milliseconds, up to another."""
        return [mark for mark in self.marks if start + 1 <= mark.at_ms < end + 1]

    def before(self, end: float) -> Mark:
        return max((mark for mark in self.marks if mark.at_ms < end + 1), key=lambda m: m.at_ms)


class Patience(threading.Event):
    """The worker's stop, never set; how long it was slept on: the settle times."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[tuple[float, float]] = []  # when it ended in ms, seconds

    def wait(self, timeout: float | None = None) -> bool:
        started = time.monotonic()
        answer = super().wait(timeout)
        self.slept.append((time.time() * 1000, time.monotonic() - started))
        return answer


class Table:
    def __init__(self) -> None:
        self._rows: dict[str, list[float]] = {}

    def add(self, name: str, seconds: float) -> None:
        self._rows.setdefault(name, []).append(seconds * 1000)

    def show(self, title: str, whole: str) -> None:
        """Milliseconds; the last column is each row's share of the whole, sum over sum."""
        print(f"{title:<44}{'n':>5}{'median':>10}{'p95':>10}{'share':>9}")
        total = sum(self._rows[whole])
        for name, samples in self._rows.items():
            ordered = sorted(samples)
            p95 = ordered[round(0.95 * (len(ordered) - 1))]
            share = sum(ordered) / total
            print(
                f"  {name:<42}{len(ordered):>5}{statistics.median(ordered):>10.1f}{p95:>10.1f}"
                f"{share:>9.1%}"
            )


def coordinate(run: Path, plan: Plan, settings: RunSettings, urls: Urls) -> None:
    async def until_over() -> None:
        opened = open_run(run, plan, settings)
        async with opened as coordinator, listening(coordinator, Secrets(KEY, "admin")) as url:
            urls.put(url)
            await coordinator.over.wait()
            await coordinator.seal()

    asyncio.run(until_over())


def work(url: str, phone: Device, profile: Profile, lock: Any, staging: Path) -> Patience:
    stop = Patience()
    with CoordinatorClient(url, KEY.secret(SLOT), worker="bench") as client:
        code = Worker(
            client=client, device=phone, name=SLOT, lock=lock, profile=profile,
            boot_s=RunSettings().limits.boot_s, staging=staging, stop=stop,
        ).run()  # fmt: skip
    if code != 0:
        raise SystemExit(f"the worker left with {code}")
    return stop


def lines(bundle: Path, trace: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (bundle / f"{trace}.jsonl").read_text().splitlines()]


def steps(bundle: Path) -> Iterator[tuple[float, float]]:
    """Each step's begin and end: from the last thing written before it to its action's line."""
    began = max(line["ts_ms"] for line in lines(bundle, "oracle_trace") if line["phase"] == "pre")
    for line in lines(bundle, "action_trace"):
        yield began, line["ts_ms"]
        began = line["ts_ms"]


def account_steps(table: Table, bundle: Path, account: Account) -> None:
    for began, ended in steps(bundle):
        wall = (ended - began) / 1000
        waited = sum(mark.waited for mark in account.within(began, ended))
        cpu = account.before(ended).own_cpu - account.before(began).own_cpu
        table.add("wall", wall)
        table.add("waiting for the phone", waited)
        table.add("harness, the rest of the wall", wall - waited)
        table.add("harness, CPU", cpu)


def account_attempt(
    table: Table, bundle: Path, granted_ms: int, committed_ms: int, account: Account, stop: Patience
) -> None:
    wall = (committed_ms - granted_ms) / 1000
    marks = account.within(granted_ms, committed_ms)
    resets = [line for line in lines(bundle, "device_trace") if line["event"] == "reset"]
    reset = sum(sum(line["steps"].values()) for line in resets)
    proven = resets[-1]["ts_ms"]
    waited = sum(mark.waited for mark in marks if mark.at_ms > proven)
    slept = sum(s for ended, s in stop.slept if granted_ms < ended < committed_ms + 1)
    table.add("wall, lease granted to commit journaled", wall)
    table.add("the phone: reset until proven", reset)
    table.add("the phone: waiting for its answers", waited)
    table.add("settle time, as the profile asks", slept)
    table.add("harness, the rest of the wall", wall - reset - waited - slept)
    table.add("harness, CPU", marks[-1].own_cpu - marks[0].own_cpu)
    table.add("emulator, CPU", marks[-1].phone_cpu - marks[0].phone_cpu)


def show(run: Path, account: Account, stop: Patience) -> None:
    by_step, by_attempt = Table(), Table()
    granted: dict[str, int] = {}
    for line in chain.read(run / chain.FOLDER).lines:
        event = line.event
        if isinstance(event, LeaseGranted):
            granted[event.token] = line.ts_ms
        elif isinstance(event, AttemptCommitted):
            if event.judgement.outcome is not Outcome.SUCCESS:
                raise SystemExit(f"{event.episode} is no success: {event.judgement}")
            bundle = run / event.bundle
            account_steps(by_step, bundle, account)
            account_attempt(by_attempt, bundle, granted[event.token], line.ts_ms, account, stop)
    by_step.show("a step, ms", "wall")
    by_attempt.show("an attempt, ms", "wall, lease granted to commit journaled")


def planned(k: str, repeats: int, profile: Profile, settings: RunSettings) -> Plan:
    folders: Iterable[Path] = (ROOT / "cases/smoke", ROOT / "cases/public")
    cases = [case for folder in folders for case in load_cases(folder)]
    return build(cases, settings, profile.name, profile.digest, k)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("-k", default=SOME, help="which cases")
    given = parser.parse_args()
    settings = RunSettings(repeats=given.repeats)
    profile = load_profile(settings.profile)
    plan = planned(given.k, given.repeats, profile, settings)
    image = embedded_image(profile, print)
    context = multiprocessing.get_context("fork")
    (ROOT / "runs").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=ROOT / "runs") as name:
        folder, urls = Path(name), context.Queue()
        run = folder / "run"
        crew = context.Process(target=coordinate, args=(run, plan, settings, urls), daemon=True)
        crew.start()
        (folder / "staging").mkdir()
        command = [simphone().program, *profile.emulator]
        with LocalDevice(
            folder / "device", image.golden, command, adb=adb_binary(), env=device_env()
        ) as running:
            phone, _ = boot(running)
            assert phone.supervisor is not None
            pid = phone.supervisor.facts().pid
            assert pid is not None
            account = Account(pid)
            phone.listen(account.hear)
            stop = work(urls.get(timeout=30), phone, profile, image.lock, folder / "staging")
        crew.join(30)
        show(run, account, stop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
