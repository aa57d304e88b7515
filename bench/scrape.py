"""Measures what a scrape of /metrics costs: a run of 100,000 episodes on 1,000 devices.

    .venv/bin/python bench/scrape.py [--episodes 100000] [--devices 1000] [--times 200]

Makes the run without a phone or a disk: the product's own schedule decides every event, until half
of the episodes are decided and every device has a lease. Then scrapes it, as the coordinator's
process does on its event loop, in the text format and in OpenMetrics, and prints the time of one
scrape, its bytes and its series, and what counting costs an event. Exits 1 if a scrape's median
takes more than 20 ms, or if there are more than 600 series.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time

from orchestrator.coordinator import schedule
from orchestrator.coordinator.state import State, apply, mark_seen, new_state
from orchestrator.coordinator.transitions import DeviceStarted, Event, LeaseGranted
from orchestrator.events.interpreter import serve_steadily
from orchestrator.evidence.attempt import AttemptRecord
from orchestrator.metrics.collector import exposition, registered
from orchestrator.metrics.families import ATTEMPT_PHASES, IDENTITY
from orchestrator.metrics.gauges import FleetSlot, FleetView, VolumeRoom
from orchestrator.metrics.run_metrics import RunMetrics
from orchestrator.outcome import Blame, EmulatorAge, Judgement, Outcome, Phase, Reason
from orchestrator.plan.plan import Episode, Plan

MOST_MS, MOST_SERIES = 20.0, 600
FORMATS = {
    "text": "text/plain;version=0.0.4",
    "OpenMetrics": "application/openmetrics-text;version=1.0.0",
}
OUTCOMES = {
    Outcome.SUCCESS: (Phase.ORACLE, Reason.NONE),
    Outcome.TASK_FAILED: (Phase.AGENT, Reason.WRONG_END),
    Outcome.INFRA_FAILED: (Phase.RESET, Reason.DEVICE_LOST),
}


def planned(episodes: int) -> Plan:
    names = [
        (f"case_{number:05d}", variant, f"case_{number:05d}.{variant}.1")
        for number in range(episodes // 2)
        for variant in ("attack", "benign")
    ]
    rows = tuple(Episode(id, case, variant, 1, 7, 60.0) for case, variant, id in names)
    return Plan(0, 1, "reference", "sim-api34", "0" * 64, (), rows)


class Life:
    """Applies each event to the state and to what counts it, and keeps what counting took."""

    def __init__(self, plan: Plan, devices: int) -> None:
        self.metrics = RunMetrics.of(plan, dict.fromkeys(IDENTITY, "0" * 64))
        expected = {episode.id: episode.expected_s for episode in plan.episodes}
        self.state: State = new_state(plan.episodes, expected, lease_s=60, attempts=3)
        self.metrics.state = self.state
        self.metrics.room = VolumeRoom(4e11, 1e12)
        self.names = [f"slot-{number}.1" for number in range(devices)]
        slots = [FleetSlot(name, "running") for name in self.names]
        self.metrics.fleet = lambda: FleetView(slots, devices)
        self.events, self.counting_s = 0, 0.0
        self._chance = random.Random(3)

    def record(self, event: Event | None) -> None:
        if event is None:
            return
        apply(self.state, event, time.monotonic())
        began = time.perf_counter()
        self.metrics.journaled(event)
        self.counting_s += time.perf_counter() - began
        self.events += 1

    def go(self, until: int) -> None:
        """Until so many episodes are decided and every device holds a lease."""
        for name in self.names:
            self.record(DeviceStarted(device=name, report_id=name, boot_s=20.0))
        now = time.monotonic()
        while self.state.outcomes.total() < until:
            for name in self.names:
                known = self.state.devices[name]
                if known.token is not None:
                    self._end(self.state.leases[known.token].granted)
                mark_seen(self.state, name, now)
                asked = str(self.events)
                granted = schedule.grant(self.state, name, name, asked, asked, now)
                self.record(granted if isinstance(granted, LeaseGranted) else None)

    def _end(self, granted: LeaseGranted) -> None:
        weights = (0.7, 0.27, 0.03)
        (outcome,) = self._chance.choices(list(OUTCOMES), weights)
        phase, reason = OUTCOMES[outcome]
        judgement = Judgement(outcome, Blame.NONE, phase, reason, violations_known=True)
        record = AttemptRecord(
            episode=granted.episode, attempt=granted.attempt, device=granted.device,
            judgement=judgement,
            started_ms=0, ended_ms=60_000,
            durations={name: 15 * self._chance.random() for name in ATTEMPT_PHASES},
            age=EmulatorAge(3, 300.0),
        )  # fmt: skip
        stored = schedule.bundle_stored(self.state, granted.token, record, "m", "b", 200_000)
        self.record(stored.model_copy(update={"judgement": judgement}))
        self.record(schedule.decision_due(self.state, granted.episode))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--devices", type=int, default=1000)
    parser.add_argument("--times", type=int, default=200)
    given = parser.parse_args()
    life = Life(planned(given.episodes), given.devices)
    life.go(given.episodes // 2)
    serve_steadily()  # as a coordinator does
    registry = registered(life.metrics)
    print(
        f"{given.episodes} episodes, {given.devices} devices, {len(life.state.leases)} leases; "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    ok = True
    for name, accept in FORMATS.items():
        took, body = [], b""
        for _ in range(given.times):
            began = time.perf_counter()
            body, _ = exposition(registry, accept)
            took.append(1000 * (time.perf_counter() - began))
        lines = body.decode().splitlines()
        series = sum(not line.startswith("#") for line in lines)
        median, slow = statistics.median(took), sorted(took)[int(0.99 * len(took))]
        ok = ok and median <= MOST_MS and series <= MOST_SERIES
        print(
            f"{name:<12}a scrape p50 {median:6.2f} ms   p99 {slow:6.2f} ms   "
            f"{len(body)} bytes   {series} series"
        )
    each_us = 1e6 * life.counting_s / life.events
    print(f"counting    {each_us:.1f} µs an event, over {life.events} events")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
