"""Finds who is at work in a run that goes on, and keeps a device of it from starting."""

from __future__ import annotations

import os
import signal
import subprocess

from orchestrator.coordinator.messages import slot_of
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    DeviceFailed,
    LeaseGranted,
)
from orchestrator.worker.staging import ATTEMPT
from orchestrator.worker.staging import FOLDER as STAGING
from tests.run.conftest import Farm
from tests.run.processes import descendants, emulators_in
from tests.run.test_road import wait_for


def fail_a_start(farm: Farm, run: str, slot: str, process: subprocess.Popen[str]) -> None:
    """Kills the emulators that are started in this slot, until one had not been ready yet."""
    killed_ones: set[int] = set()

    def fail() -> bool:
        events = farm.events(run)
        if any(isinstance(each, DeviceFailed) for each in events):
            return True
        for pid in emulators_in(process.pid, slot) - killed_ones:
            killed_ones.add(pid)
            os.kill(pid, signal.SIGKILL)
        return False

    wait_for(fail, process)


def acting_device(farm: Farm, run: str, devices: set[str], process: subprocess.Popen[str]) -> str:
    """One of these, as soon as an agent has begun to act on it: the latest of them."""
    found: list[str] = []

    def acts() -> bool:
        leases = [lease for lease in open_leases(farm, run) if lease.device in devices]
        found[:] = [lease.device for lease in reversed(leases) if acted(farm, run, lease.device)]
        return bool(found)

    wait_for(acts, process)
    return found[0]


def acted(farm: Farm, run: str, device: str) -> bool:
    """Whether the attempt under way there has an action on record."""
    attempt = farm.runs / run / STAGING / slot_of(device) / ATTEMPT
    try:
        return any(trace.stat().st_size for trace in attempt.rglob("action_trace.jsonl"))
    except OSError:  # it was sealed while we looked
        return False


def open_leases(farm: Farm, run: str) -> list[LeaseGranted]:
    events = farm.events(run)
    over = {each.token for each in events if isinstance(each, AttemptCommitted | AttemptLost)}
    return [each for each in events if isinstance(each, LeaseGranted) and each.token not in over]


def worker_of(run: int, device: str) -> int:
    """The process of this device's worker, among the run's descendants."""
    staging = f"/{STAGING}/{slot_of(device)}"
    for each in descendants(run):
        if "worker" in each.words and any(word.endswith(staging) for word in each.words):
            return each.pid
    raise AssertionError(f"no worker of {device}")
