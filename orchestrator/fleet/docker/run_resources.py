"""What does a run have on the engine beside its pairs? A network and a volume, while it runs.

The network's gateway is this machine: there the coordinator listens, and the workers' secret is
what protects it, since containers of other networks reach it too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from ...errors import EmufarmError, UsageError
from ..threads import whole
from .engine import Engine
from .networks import make_network, make_volume
from .owner import IMAGE, Owner, owner
from .reaper import Say, clear, clear_pairs, reap

T = TypeVar("T")


class Ground:
    """Made on entry, by whoever holds the run's lock; gone on exit, with all that is left in it.

    Dead runs' leftovers go first, this run's own among them, where it was killed before.
    """

    def __init__(self, engine: Engine, lock: Path, worker_image: str, say: Say) -> None:
        self.engine = engine
        self.owner: Owner = owner(lock)
        self.volume = f"{self.owner.name}-staging"
        self.network = self.owner.name
        self.gateway = ""
        self._image = worker_image
        self._say = say

    async def __aenter__(self) -> Self:
        try:
            await whole(self._make)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    def _make(self) -> None:
        clear(self.engine, self.owner, self._say)
        reap(self.engine, self._say)
        labels = self.owner.labels
        make_volume(self.engine, self.volume, {**labels, IMAGE: self._image})
        self.gateway = make_network(self.engine, self.network, labels).gateway
        if not self.gateway:
            raise UsageError(
                f"the engine at {self.engine.host} gave the network {self.network} no gateway to "
                "listen on: it must be an engine on this machine"
            )

    async def salvage(self) -> bool:
        """Once its pairs have ended: whether they left what they sealed and did not send; it is in
        the run's folder now."""
        return bool(await whole(lambda: self._tried(clear_pairs)))

    async def __aexit__(self, *_: object) -> None:
        await whole(lambda: self._tried(clear))

    def _tried(self, work: Callable[[Engine, Owner, Say], T]) -> T | None:
        """What cannot be removed now is found by its labels later; the run's own end is told."""
        try:
            return work(self.engine, self.owner, self._say)
        except (EmufarmError, OSError) as error:
            self._say(f"something of this run stays on the Docker engine: {error}")
            self._say("`emufarm clean` removes it, and keeps what is sealed; so does a resume")
            return None
