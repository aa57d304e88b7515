"""Measures the time and memory of a report and of a resume for a run of 100,000 episodes.

    .venv/bin/python bench/large.py [--cases 1000] [--repeats 50] [--times 3] [--at FOLDER]
                                    [--only report|resume|scrape]

Makes two runs without a phone, in a minute or two. The product's own code writes plan.json and each
line of the journal, in two segments, with infra retries, losses, returned leases and device starts.
The first run is decided and sealed. The second is left at 95 % with leases open; each of its
bundles has a manifest of a usual size and nothing else, since a resume reads no more of it.

Then measures, each in a process of its own, the report of the first run (`report.write`) and the
resume of the second until the first lease is granted (`read_plan`, `open_run`, `lease`), and what
`/metrics` adds to that: counting its journal, and a scrape, of 600 series at most. Seconds
and CPU (user and system) count from the start of the process, with imports; memory is its peak.
Exits 1 if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from orchestrator.cases.load import LoadedCase, case_digest, load_cases
from orchestrator.coordinator import chain, schedule
from orchestrator.coordinator.bundle_store import EPISODES
from orchestrator.coordinator.claims import claim_run
from orchestrator.coordinator.coordinator import Coordinator
from orchestrator.coordinator.journal import Journal
from orchestrator.coordinator.messages import Lease, LeaseRequest
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.state import apply, mark_seen, new_state
from orchestrator.coordinator.transitions import (
    DeviceStarted,
    Event,
    LeaseGranted,
    RunOpened,
    RunSealed,
)
from orchestrator.evidence import manifest as evidence
from orchestrator.evidence.attempt import AttemptRecord
from orchestrator.files import write_json
from orchestrator.metrics.collector import exposition, registered
from orchestrator.metrics.families import IDENTITY
from orchestrator.metrics.run_metrics import RunMetrics
from orchestrator.outcome import (
    Effort,
    EmulatorAge,
    OracleResults,
    Phase,
    Reason,
    Trouble,
    judge,
)
from orchestrator.pins.run_manifest import MANIFEST
from orchestrator.plan.plan import Plan, build
from orchestrator.plan.store import FILE, read_plan, write_plan
from orchestrator.settings import RunSettings

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "runs"  # a disk whose syncs cost; /tmp may be memory
LIMITS = {  # seconds, MB
    "report": (20.0, 600.0), "resume": (8.0, 600.0), "scrape": (20.0, 1200.0),
}  # fmt: skip
MOST_SERIES = 600
DEVICES = 40
START_MS = 1_700_000_000_000
Told: TypeAlias = dict[str, float]

ASKS = 50  # leases whose price is looked at once the run is open


def planned(cases: int, repeats: int) -> Plan:
    """The public cases that have both variants, under as many names as are asked for."""
    known = [each for each in load_cases(ROOT / "cases" / "public") if len(each.case.variants) == 2]
    named = [_renamed(known[number % len(known)], number) for number in range(cases)]
    return build(named, RunSettings(repeats=repeats), "sim-api34", "0" * 64)


def _renamed(loaded: LoadedCase, number: int) -> LoadedCase:
    case = loaded.case.model_copy(update={"id": f"{loaded.case.id}_{number:04d}"})
    return replace(loaded, case=case, digest=case_digest(case, loaded.site))


class Life:
    """A run that happens at once: what the schedule decides, as its journal would hold it."""

    def __init__(self, run: Path, plan: Plan, seed: int) -> None:
        limits = RunSettings().limits
        expected = {episode.id: episode.expected_s for episode in plan.episodes}
        self.state = new_state(plan.episodes, expected, limits.lease_s, limits.attempts)
        self.plan = plan
        self.now_ms = START_MS
        self._chance = random.Random(seed)
        self._folder = run / chain.FOLDER
        self._journal = self._opened()

    def _opened(self) -> Journal:
        walk = chain.JournalReader(self._folder)
        for _ in walk:
            pass
        claim = claim_run(self._folder.parent)
        journal = Journal(self._folder, walk.end, claim, now_ms=lambda: self.now_ms)
        apply(self.state, journal.opened, 0)
        return journal

    def record(self, *events: Event) -> None:
        for event in events:
            apply(self.state, event, 0)
        self._journal.queue(events)

    async def restart(self) -> None:
        await self._journal.close()
        self._journal = self._opened()

    async def go(self, until: int) -> None:
        """Until so many episodes are decided, every device holding a lease all the time."""
        decided = len(self.plan.episodes) - self.state.undecided
        asked = 0
        while decided < until and not self.state.finished:
            asked += 1
            device = f"device-{asked % DEVICES}"
            held = self.state.devices[device].token if device in self.state.devices else None
            if held is not None:
                self._end(self.state.leases[held].granted)
            self._ask(device, f"{asked:032x}")
            decided = len(self.plan.episodes) - self.state.undecided
            if asked % 10_000 == 0:
                await self._journal.durable()

    def _ask(self, device: str, ask: str) -> None:
        if device not in self.state.devices or int(ask, 16) % 500 == 0:
            self.record(
                DeviceStarted(device=device, report_id=ask, worker=device, boot_s=20, facts=FACTS)
            )
        mark_seen(self.state, device, 0)
        granted = schedule.grant(self.state, device, device, ask, ask[-16:], 0)
        if isinstance(granted, LeaseGranted):
            self.record(granted)

    def _end(self, granted: LeaseGranted) -> None:
        self.now_ms += 65
        drawn = self._chance.random()
        if drawn < 0.005:
            self.record(schedule.lease_returned(self.state.leases[granted.token], "SIGTERM"))
            return
        if drawn < 0.015:
            text = "its worker is gone"
            self.record(
                schedule.attempt_lost(self.state.leases[granted.token], Reason.WORKER_LOST, text, 0)
            )
        else:
            bundle = f"{EPISODES}/{granted.episode}/attempt-{granted.attempt}-c1"
            told = self._told(granted, drawn)
            digest = hashlib.sha256(manifest_of(bundle)).hexdigest()
            self.record(
                schedule.bundle_stored(self.state, granted.token, told, digest, bundle, 200_000)
            )
        decided = schedule.decision_due(self.state, granted.episode)
        quarantined = schedule.quarantine_due(self.state, granted.device)
        self.record(*(event for event in (decided, quarantined) if event is not None))

    def _told(self, granted: LeaseGranted, drawn: float) -> AttemptRecord:
        results, trouble = OracleResults(True, held_before=False), None
        if drawn < 0.04:
            trouble = Trouble(Phase.RESET, Reason.DEVICE_LOST, "device offline")
        elif drawn < 0.3:
            results = OracleResults(False, held_before=False, violations=("forbidden",))
        return AttemptRecord(
            episode=granted.episode,
            attempt=granted.attempt,
            device=granted.device,
            started_ms=self.now_ms - 2600,
            ended_ms=self.now_ms,
            durations={
                name: self._chance.random() for name in ("reset", "setup", "agent", "oracle")
            },
            effort=Effort(steps=7, agent_s=self._chance.random(), asks=1),
            age=EmulatorAge(self._chance.randrange(40), self._chance.randrange(1000)),
            judgement=judge(results, trouble),
            oracle_results=results,
            trouble=trouble,
        )

    async def close(self) -> None:
        await self._journal.close()


FACTS = {"fingerprint": "generic/sdk/34:userdebug/test-keys", "emulator": "34.1.9", "ram_mb": 2048}


async def made(run: Path, plan: Plan, share: float) -> Life:
    """A run of this plan, decided to this share; sealed where that is all of it."""
    life = Life(run, plan, seed=5)
    opening = RunOpened(
        plan=plan.digest,
        agent=plan.agent,
        profile=plan.profile,
        episodes=len(plan.episodes),
        settings={},
    )
    life.record(opening)
    await life.go(len(plan.episodes) // 2)
    await life.restart()
    await life.go(round(share * len(plan.episodes)))
    if life.state.finished:
        life.record(RunSealed(plan=plan.digest, decided=len(plan.episodes)))
    await life.close()
    return life


def manifest_of(bundle: str) -> bytes:
    """As long as that of an attempt of some ten steps."""
    return f"{bundle:>6000}".encode()


def manifest(plan: Plan) -> dict[str, Any]:
    seeds = {episode.id: episode.seed for episode in plan.episodes}
    return {
        "reproducibility": {"plan_digest": plan.digest, "case_seeds": seeds},
        "android": {"image_lock": {"digest": "0" * 64}},
    }


def generate(folder: Path, cases: int, repeats: int) -> None:
    plan = planned(cases, repeats)
    for name, share in (("sealed", 1.0), ("open", 0.95)):
        run = folder / name / "run"  # alone in its folder: no other journal is asked for durations
        run.mkdir(parents=True)
        write_plan(run / FILE, plan)
        write_json(run / MANIFEST, manifest(plan))
        life = asyncio.run(made(run, plan, share))
        if not life.state.sealed:
            for kept in life.state.committed.values():
                (run / kept.bundle).mkdir(parents=True)
                (run / kept.bundle / evidence.NAME).write_bytes(manifest_of(kept.bundle))


def reported(run: Path) -> Told:
    from orchestrator.report import build as report  # what only this part costs

    report.write(run)  # as `emufarm report` does
    return {"at": time.monotonic(), "cpu": time.process_time()}


def resumed(run: Path) -> Told:
    return asyncio.run(_resumed(run))


async def _resumed(run: Path) -> Told:
    async with open_run(run, read_plan(run / FILE), RunSettings()) as coordinator:
        await leased(coordinator, 0)
        told = {"at": time.monotonic(), "cpu": time.process_time()}
        grants = [await leased(coordinator, number) for number in range(1, ASKS)]
        begun = time.perf_counter()
        coordinator.view()
        told["a view"] = time.perf_counter() - begun
        told["a durable lease"] = statistics.median(grants)
        return told


def scraped(run: Path) -> Told:
    """What a resumed coordinator with /metrics has to do besides: count the journal, and answer."""
    plan = read_plan(run / FILE)
    metrics = RunMetrics.of(plan, dict.fromkeys(IDENTITY, "0" * 64))
    expected = {episode.id: episode.expected_s for episode in plan.episodes}
    metrics.state = new_state(plan.episodes, expected, lease_s=60, attempts=3)
    journal = list(chain.JournalReader(run / chain.FOLDER))
    for line in journal:
        apply(metrics.state, line.event, 0)
    begun = time.perf_counter()
    for line in journal:
        metrics.journaled(line.event)
    counting = time.perf_counter() - begun
    registry = registered(metrics)
    begun = time.perf_counter()
    body, _ = exposition(registry, "")
    answering = time.perf_counter() - begun
    series = sum(not text.startswith("#") for text in body.decode().splitlines())
    assert series <= MOST_SERIES, f"{series} series"
    print(f"        {len(journal)} events are {series} series", file=sys.stderr, flush=True)
    told = {"at": time.monotonic(), "cpu": time.process_time()}
    return told | {"counting": counting, "a scrape": answering}


async def leased(coordinator: Coordinator, number: int) -> float:
    begun = time.perf_counter()
    name = f"bench-{os.getpid()}-{number}"
    answer = await coordinator.lease(
        name, LeaseRequest(worker="bench", request_id=name), disconnected=_never
    )
    assert isinstance(answer, Lease), answer
    return time.perf_counter() - begun


async def _never() -> bool:
    return False


PARTS: dict[str, tuple[str, Callable[[Path], Told]]] = {
    "report": ("sealed", reported),
    "resume": ("open", resumed),
    "scrape": ("open", scraped),
}


def measured(part: str, folder: Path) -> bool:
    """One process, from its start; whether it kept to its limits."""
    run = folder / PARTS[part][0] / "run"
    begun = time.monotonic()
    with subprocess.Popen(
        [sys.executable, __file__, "--part", part, str(run)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{part} failed"
    told: Told = json.loads(said)
    wall, cpu, memory = told.pop("at") - begun, told.pop("cpu"), used.ru_maxrss / 1024
    most_s, most_mb = LIMITS[part]
    ok = wall < most_s and memory < most_mb
    beside = "".join(f"  {name} {seconds * 1000:.2f} ms" for name, seconds in told.items())
    print(
        f"{part:<8}{wall:>7.2f} s wall{cpu:>7.2f} s CPU{memory:>7.0f} MB{beside}"
        f"{'' if ok else f'  BEYOND {most_s:g} s or {most_mb:g} MB'}",
        flush=True,
    )
    return ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--at", type=Path, help="a folder that keeps the runs for the next time")
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this alone")
    parser.add_argument("--part", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        part, run = given.part
        print(json.dumps(PARTS[part][1](Path(run))))
        return 0
    RUNS.mkdir(exist_ok=True)
    folder = given.at or Path(tempfile.mkdtemp(prefix=".large-", dir=RUNS))
    try:
        if not (folder / "open").exists():
            # Elsewhere, so that this process stays small: a child's peak begins at its parent's.
            making = multiprocessing.get_context("spawn").Process(
                target=generate, args=(folder, given.cases, given.repeats)
            )
            making.start()
            making.join()
            assert making.exitcode == 0, "no runs were made"
        print(
            f"{given.cases * 2 * given.repeats} episodes; load {os.getloadavg()[0]:.1f} on "
            f"{os.cpu_count()} cores"
        )
        results = [
            measured(part, folder) for _ in range(given.times) for part in given.only or PARTS
        ]
    finally:
        if given.at is None:
            shutil.rmtree(folder)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
