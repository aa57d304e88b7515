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


class FleetView(NamedTuple):
    """A run's fleet at one moment; of a run that is only served there is none."""

    slots: Iterable[FleetSlot] = ()
    wanted: int = 0  # devices that were asked for


NO_FLEET = FleetView()


def gauges(
    state: State, now: float, fleet: FleetView, room: VolumeRoom, began_s: float, *, over: bool
) -> GaugeValues:
    """`over`: the run has ended, whether or not all of it is decided. Nothing is at work any more
    then, whatever its journal left open: a lease whose coordinator was killed stays in it."""
    ended = over and not state.finished
    left = None if ended else eta(state, now)
    leased = 0 if over else len(state.leases)
    decided = state.outcomes.total()
    episodes = (len(state.episodes) - leased - decided, leased, decided)
    named = zip(families.EPISODE_STATES, episodes, strict=True)
    devices = dict.fromkeys(families.DEVICES.series, 0.0)
    return {
        families.EPISODES.name: {(name,): count for name, count in named},
        families.DEVICES.name: devices if over else _devices(state, now, fleet.slots),
        families.DEVICES_WANTED.name: {
            (): 0.0 if over else float(min(fleet.wanted, state.undecided))
        },
        families.OLDEST_LEASE.name: {(): 0.0 if over else oldest_lease_s(state, now)},
        families.ETA.name: {(): math.nan if left is None else left},
        families.VOLUME_FREE.name: {(): room.free},
        families.VOLUME_SIZE.name: {(): room.size},
        families.STUCK.name: {(): float(stuck(state))},
        families.RUN_OVER.name: {(): float(over or state.finished)},
        families.RUN_START_TIME.name: {(): began_s},
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
