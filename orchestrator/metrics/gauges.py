"""What a run's state shows at one moment: episodes, devices, leases and time left. Pure.

It may walk the devices, and never the episodes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..coordinator.schedule import live, stuck
from ..coordinator.state import State
from ..coordinator.view import eta, oldest_lease_s, standing_of
from . import families
from .families import DEVICE_STATES, LabelValues

GaugeValues = Mapping[str, Mapping[LabelValues, float]]  # family -> label values -> value


class FleetSlot(NamedTuple):
    """A slot as its fleet sees it; the coordinator knows its device once a worker has come."""

    device: str
    state: str  # starting | queued | running | and how it ended


class VolumeRoom(NamedTuple):
    free: float  # bytes
    size: float


UNKNOWN_ROOM = VolumeRoom(math.nan, math.nan)


def gauges(
    state: State, now: float, slots: Iterable[FleetSlot], room: VolumeRoom, *, over: bool
) -> GaugeValues:
    """`over`: the run has ended, whether or not all of it is decided."""
    left = eta(state, now)
    episodes = (len(state.pending), len(state.leases), state.outcomes.total())
    named = zip(families.EPISODE_STATES, episodes, strict=True)
    return {
        families.EPISODES.name: {(name,): count for name, count in named},
        families.DEVICES.name: _devices(state, now, slots),
        families.OLDEST_LEASE.name: {(): oldest_lease_s(state, now)},
        families.ETA.name: {(): math.nan if left is None else left},
        families.VOLUME_FREE.name: {(): room.free},
        families.VOLUME_SIZE.name: {(): room.size},
        families.STUCK.name: {(): float(stuck(state))},
        families.RUN_OVER.name: {(): float(over or state.finished)},
    }


def _devices(state: State, now: float, slots: Iterable[FleetSlot]) -> dict[LabelValues, float]:
    alive = set(live(state, now))
    standings = {name: standing_of(device, name in alive) for name, device in state.devices.items()}
    counted: Counter[str] = Counter(standings.values())
    for slot in slots:
        if slot.state == "queued":
            counted["queued"] += 1
        elif slot.state in ("starting", "running") and standings.get(slot.device, "away") == "away":
            counted["starting"] += 1  # it boots, or its worker has not come yet
    return {(each,): counted[each] for each in DEVICE_STATES}
