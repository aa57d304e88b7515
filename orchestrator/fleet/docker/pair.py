"""A pair as two containers in one network namespace: the worker owns it, the device joins it.

An owner that dies takes the joiner's network along for good. So whichever of the two ends, both go,
and the slot makes another pair; its worker sends what the one before it sealed.
"""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, TypeVar

from ...worker.exit_codes import WorkerExit
from ..slot import Hopeless, Slot
from ..threads import whole
from . import containers
from .agents import Cell
from .container_end import code, told
from .containers import ContainerState
from .engine import EngineAway, EngineRefused, NotThere
from .owner import SLOT, WORKER
from .salvage import PLACE as STAGING
from .terms import DockerTerms, device_spec, worker_spec
from .watch import Watch

STOP_S = 10.0  # for a worker to give its lease back
DEVICE_STOP_S = 8.0  # the supervisor promises 5, and still ends with its emulator's code
STARTED = '"control_port"'  # in what a supervisor prints once its emulator runs
_LINES, _LOG_LINES = 40, 2000

T = TypeVar("T")


class DockerPair:
    def __init__(self, slot: Slot, terms: DockerTerms, watch: Watch, threads: Executor) -> None:
        self._slot = slot
        self._terms = terms
        self._engine = terms.engine
        self._watch = watch
        self._threads = threads
        self._cell = Cell(terms.engine, terms.owner, slot.name)

    async def live(self) -> bool:
        """True once the worker has left for good; else this pair is of no more use."""
        await self._watch.answers()
        try:
            try:
                await self._whole(self._clear)  # what an engine that was away kept
                worker, device = await self._whole(self._make)
            except (EngineAway, EngineRefused, OSError) as error:
                self._watch.doubt()
                self._slot.tell("device_not_started", None, str(error))
                return False
            try:
                return await self._keep(worker, device)
            except (EngineAway, EngineRefused) as error:
                self._watch.doubt()
                self._slot.tell("device_lost", None, str(error))
                return False
        finally:
            await self._whole(self._leave)

    def _make(self) -> tuple[str, str]:
        """Both run; the worker waits for its device by itself."""
        worker = containers.create(self._engine, worker_spec(self._terms, self._slot))
        containers.upload(self._engine, worker, STAGING, _folder(self._slot.name))
        if self._terms.agent is not None:
            self._cell.open(worker)
        containers.start(self._engine, worker)
        device = containers.create(self._engine, device_spec(self._terms, self._slot, worker))
        try:
            containers.start(self._engine, device)
        except EngineRefused:
            # Where the worker has ended there is nothing to join; how it ended is told.
            if containers.inspect(self._engine, worker).exit_code is None:
                raise
        return worker, device

    async def _keep(self, worker: str, device: str) -> bool:
        left, lost = self._watch.ended(worker), self._watch.ended(device)
        away = asyncio.ensure_future(self._watch.lost.wait())
        self._slot.state = "running"
        try:
            ends: set[asyncio.Future[Any]] = {left, lost, away}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if lost.done() and not left.done() and await self._whole(lambda: self._ran(device)):
                # A worker without its device seals what it has, sends it and leaves by itself.
                ends = {left, away}
                await asyncio.wait(
                    ends, timeout=self._terms.seal_s, return_when=asyncio.FIRST_COMPLETED
                )
            if away.done():
                self._slot.tell("device_lost", None, self._watch.outage)
                raise Hopeless(self._watch.outage)
        finally:
            away.cancel()
        outages = [end.result() for end in (lost, left) if end.done()]
        outage = next(filter(None, outages), "")
        return await self._judged(worker, device, left.done(), lost.done(), outage)

    async def _judged(self, worker: str, device: str, left: bool, lost: bool, outage: str) -> bool:
        """What is told of the end. Only now: until its worker has left, what that one seals is in
        time."""
        slot, terms = self._slot, self._terms
        if left:
            ended = await self._whole(lambda: self._seen(worker))
            word = ended.exit_code if ended else None
            if word == WorkerExit.ALL_DECIDED:
                return True
            if word != WorkerExit.DEVICE_UNUSABLE and not lost:
                why = told("worker", ended, terms.worker.limits)
                slot.crashed(word, await self._words(why, worker))
                return False
            why = "" if lost else "its worker found it unusable"
        else:
            why = "its worker was sent after it"
            await self._whole(lambda: containers.stop(self._engine, worker, STOP_S))
        started = await self._whole(lambda: self._ran(device))
        await self._whole(lambda: containers.stop(self._engine, device, DEVICE_STOP_S))
        state = await self._whole(lambda: self._seen(device))
        if state and state.exit_code == 0 and not lost:
            state = replace(state, exit_code=None)  # it was our doing
        how = told("device", state, terms.device.limits)
        lines = (outage, why if started else "", how)
        text = await self._words("\n".join(line for line in lines if line), device)
        slot.tell("device_lost" if started else "device_not_started", code(state), text)
        return False

    async def _words(self, why: str, container: str) -> str:
        """With what it said last."""
        try:
            said = await self._whole(lambda: containers.log_tail(self._engine, container, _LINES))
        except NotThere:
            said = ""
        return f"{why}\n{said}".strip()

    def _ran(self, device: str) -> bool:
        """Whether its emulator ever did; else no worker can be at anything."""
        try:
            return STARTED in containers.log_tail(self._engine, device, _LOG_LINES)
        except NotThere:
            return True  # nobody can tell: its worker gets its time

    def _seen(self, container: str) -> ContainerState | None:
        try:
            return containers.inspect(self._engine, container)
        except NotThere:
            return None

    def _leave(self) -> None:
        try:
            self._clear()
        except (EngineAway, EngineRefused) as error:
            # The slot's next pair tries again, and so does the end of the run.
            self._slot.reason = self._slot.reason or str(error)

    def _clear(self) -> None:
        """The worker gives its lease back; then nothing of the slot is on the engine."""
        slot = f"{SLOT}={self._slot.name}"
        own = containers.find(self._engine, self._terms.owner.label, slot)
        for container in own:
            if container.name.endswith(WORKER):
                containers.stop(self._engine, container.id, STOP_S)
                self._keep_log(container.id)
        for container in own:
            containers.remove(self._engine, container.id)
        if self._terms.agent is not None:
            self._cell.close()

    def _keep_log(self, worker: str) -> None:
        words = containers.log_tail(self._engine, worker, _LOG_LINES)
        log = self._terms.logs / f"{self._slot.name}.worker.log"
        try:
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{words}\n" if words else "")
        except OSError as error:  # a full disk must not keep a container alive
            self._slot.reason = str(error)

    async def _whole(self, call: Callable[[], T]) -> T:
        return await whole(call, self._threads)


def _folder(name: str) -> bytes:
    """An archive of one folder that whatever user the worker is may write in."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, 0o777
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.addfile(entry)
    return made.getvalue()
