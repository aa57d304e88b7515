"""Effects that come later: the world changes after the call that caused it has returned.

Pending effects are plain data, so that a snapshot taken between a cause and its effect
carries the effect, and a load brings it due again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from . import crash
from .clock import Clock
from .state import Json

if TYPE_CHECKING:
    from .world import World

Handler = Callable[["World", dict[str, Json]], None]


@dataclass(order=True)
class Effect:
    due_s: float  # uptime
    name: str
    args: dict[str, Json] = field(default_factory=dict, compare=False)


class Effects:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pending: list[Effect] = []
        self._handlers: dict[str, Handler] = {}
        self._world: World | None = None
        self._timer: asyncio.TimerHandle | None = None

    def bind(self, world: World, handlers: dict[str, Handler]) -> None:
        self._world = world
        self._handlers = handlers

    def later(self, delay_s: float, name: str, **args: Json) -> None:
        if name not in self._handlers:
            raise KeyError(f"no handler for the effect {name!r}")
        self._pending.append(Effect(self._clock.uptime() + delay_s, name, args))
        self._arm()

    def settle(self) -> None:
        """Run everything that is due now."""
        assert self._world is not None
        while self._pending and min(self._pending).due_s <= self._clock.uptime():
            effect = min(self._pending)
            self._pending.remove(effect)
            with crash.contained(self._world, effect.name):  # what is due after it is still due
                self._handlers[effect.name](self._world, effect.args)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        self.cancel()
        if self._pending:
            wait = max(0.0, min(self._pending).due_s - self._clock.uptime())
            self._timer = asyncio.get_running_loop().call_later(wait, self._fire)

    def _fire(self) -> None:
        self._timer = None
        self.settle()
        self._arm()

    def save(self) -> Json:
        return [asdict(effect) for effect in self._pending]

    def load(self, state: Json) -> None:
        self._pending = [Effect(**effect) for effect in state]
        self._arm()
