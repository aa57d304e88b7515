"""The fleet that all backends share: its slots, started together, resized, ended together."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Coroutine, Iterable
from typing import Any, Protocol, Self

from ..coordinator.messages import AgentContainers
from .fact import OnFact
from .port import FleetOrder
from .slot import Slot, device_numbers, slot_name


class Pairs(Protocol):
    """What a backend adds to a fleet: how its pairs are made, watched and removed."""

    @property
    def agents(self) -> AgentContainers | None:
        """Agents that come in images, where this backend runs containers for them."""
        ...

    async def open(self) -> None:
        """Before the first pair."""
        ...

    async def watch(self) -> None:
        """Runs beside the slots and may end before them; what it raises ends the fleet."""
        ...

    async def run_pair(self, slot: Slot) -> bool:
        """One pair, from its making to its end; see Slot. Cancelled, its worker gives its lease
        back and nothing of the pair stays, unless `leave` came before. NoMorePairs where no other
        pair can be made."""
        ...

    def committed(self, device: str) -> None:
        """This device's worker committed an attempt."""
        ...

    def leave(self) -> None:
        """From now on a cancelled pair stays as it is. CannotLeave where that is impossible."""
        ...

    async def close(self) -> None:
        """After the last pair."""
        ...


class SlotFleet:
    """A fleet of slots; fleet/port.py's Fleet."""

    def __init__(self, pairs: Pairs, order: FleetOrder, on_fact: OnFact) -> None:
        self._pairs = pairs
        self._order = order
        self._on_fact = on_fact
        self._lives: dict[Slot, asyncio.Task[None]] = {}
        self._watching: list[asyncio.Task[None]] = []  # one, until the end
        self._changed = asyncio.Event()

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(self._lives)

    @property
    def agents(self) -> AgentContainers | None:
        return self._pairs.agents

    async def __aenter__(self) -> Self:
        await self._pairs.open()
        self._watching.append(self._task(self._pairs.watch(), "watch"))
        for device in self._order.adopted:
            self._add(*device_numbers(device))
        self._grow(self._order.devices - len(self._lives))
        return self

    async def ended(self) -> None:
        while True:
            self._changed.clear()
            for task in (*self._watching, *self._lives.values()):
                if task.done() and not task.cancelled():
                    task.result()
            if all(life.done() for life in self._lives.values()):
                return
            await self._changed.wait()

    async def resize(self, devices: int, busy: Collection[str] = ()) -> None:
        living = [slot for slot, life in self._lives.items() if not life.done()]
        self._grow(devices - len(living))
        living.sort(key=lambda slot: (slot.device in busy, -slot.number))
        _raise_first(await self._stop(living[: max(0, len(living) - devices)]))

    def committed(self, device: str) -> None:
        for slot in self._lives:
            if slot.device == device:
                slot.committed()
                self._pairs.committed(device)

    async def end(self) -> None:
        _raise_first(await self._end())

    async def leave(self) -> None:
        self._pairs.leave()
        await self.end()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        failures = await self._end()
        if error is None:  # else that one is raised
            _raise_first(failures)

    def _grow(self, count: int) -> None:
        used = {slot.number for slot in self._lives}
        free = (number for number in itertools.count() if number not in used)
        for number in itertools.islice(free, max(count, 0)):
            self._add(number, self._order.first_numbers.get(slot_name(number), 1))

    def _add(self, number: int, first: int) -> None:
        slot = Slot(number, self._order.starts, first, self._pairs.run_pair, self._on_fact)
        self._lives[slot] = self._task(slot.live(), slot.name)
        self._changed.set()

    def _task(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(lambda _: self._changed.set())
        return task

    async def _stop(self, slots: Iterable[Slot]) -> list[Exception]:
        """Waits until each has stopped; what they raised instead."""
        lives = {slot: self._lives[slot] for slot in slots}
        for life in lives.values():
            life.cancel()
        ends = await asyncio.gather(*lives.values(), return_exceptions=True)
        for slot, life in lives.items():
            if life.cancelled():
                slot.state = "stopped"
        return [end for end in ends if isinstance(end, Exception)]

    async def _end(self) -> list[Exception]:
        """A second call does nothing."""
        watching, self._watching = self._watching, []
        if not watching:
            return []
        try:
            return await self._stop(self._lives)
        finally:
            watching[0].cancel()
            await self._pairs.close()


def _raise_first(failures: list[Exception]) -> None:
    if failures:
        raise failures[0]
