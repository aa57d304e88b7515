"""What runs beside the world for a while: page loads that outlive the tap that began them.

A task holds sockets, which no snapshot can carry. So it ends with the world it was begun in: at a
snapshot load, a reboot, an exit. A screen remembers the id of the task it waits for and asks
`running`; a load that was under way when the snapshot was saved is one that is not running any
more, and the screen says that it failed. It is not begun again: a form would be sent twice.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Coroutine

log = logging.getLogger(__name__)


class Background:
    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[asyncio.Task[None]] = set()  # cancelled, and still unwinding

    def start(self, work: Coroutine[None, None, None]) -> str:
        """Begins it on the running loop; the id is no other task's, in this process or the next."""
        name = secrets.token_hex(8)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[name] = task
        task.add_done_callback(lambda done: self._ended(name, done))
        return name

    def running(self, name: object) -> bool:
        return name in self._tasks

    def cancel(self, name: object) -> None:
        task = self._tasks.pop(str(name), None)
        if task is not None:
            task.cancel()
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    def cancel_all(self) -> None:
        """Returns at once; `settled` waits until they have gone."""
        for name in tuple(self._tasks):
            self.cancel(name)

    async def settled(self) -> None:
        """Until nothing is under way: for tests and an orderly exit."""
        while tasks := {*self._tasks.values(), *self._leaving}:
            await asyncio.wait(tasks)

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(name, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a background task failed", exc_info=error)
