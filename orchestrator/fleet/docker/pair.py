"""A pair of containers in one network namespace: the worker owns it, the device joins it.

When the worker's container ends, the device loses its network for good. So when either of the two
ends, both are removed and the slot makes another pair; its worker sends what the last one sealed.
"""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, TypeVar

from ...outcome import Cause
from ...worker.arguments import WorkerExit
from ..blocking import finish
from ..container_layout import STAGING
from ..fact import FactKind
from ..slot import NoMorePairs, Slot
from ..worker_token import worker_token
from . import containers
from .agents import AgentNetwork
from .container_end import describe_end, end_cause, end_code
from .containers import ContainerState, FoundContainer
from .engine import BadRequest, EngineAway, EngineRefused, NotThere
from .owner import DEVICE, SLOT, WORKER
from .pair_spec import DockerPairSettings
from .watch import Watch

STOP_S = 10.0  # for a worker to give its lease back
DEVICE_STOP_S = 8.0  # the supervisor promises 5, and still ends with its emulator's code
STARTED = '"control_port"'  # in the line that a supervisor prints once its emulator runs
_LINES, _LOG_LINES = 40, 2000

T = TypeVar("T")


class DockerPair:
    def __init__(
        self,
        slot: Slot,
        settings: DockerPairSettings,
        watch: Watch,
        threads: Executor,
        left: asyncio.Event,  # set where pairs stay for a successor
    ) -> None:
        self._slot = slot
        self._settings = settings
        self._engine = settings.engine
        self._watch = watch
        self._threads = threads
        self._left = left
        self._network = AgentNetwork(settings.engine, settings.owner, slot.name)

    async def run(self) -> bool:
        """True once the worker has left for good; False if the slot needs another pair."""
        await self._watch.answers()
        try:
            try:
                worker, device = await self._finish(self._adopt_or_make)
            except (EngineAway, EngineRefused, OSError) as error:
                self._watch.doubt()
                self._slot.report("device_not_started", _refusal_cause(error), None, str(error))
                return False
            try:
                return await self._keep(worker, device)
            except (EngineAway, EngineRefused) as error:
                self._watch.doubt()
                self._slot.report("device_lost", Cause.ENGINE_AWAY, None, str(error))
                return False
        finally:
            if not self._left.is_set():
                await self._finish(self._try_clear)

    def _adopt_or_make(self) -> tuple[str, str]:
        """Both run; the worker waits for its device by itself."""
        found = self._containers()
        running = {one.name: one.id for one in found if one.state == "running"}
        names = [self._settings.container_name(self._slot, part) for part in (WORKER, DEVICE)]
        if all(name in running for name in names):  # a predecessor left them
            return running[names[0]], running[names[1]]
        self._clear(found)  # what an engine that was away kept
        return self._make()

    def _make(self) -> tuple[str, str]:
        token = worker_token(self._settings.order, self._slot.device)
        worker = containers.create(self._engine, self._settings.worker_spec(self._slot, token))
        containers.upload(self._engine, worker, STAGING, _folder(self._slot.name))
        if self._settings.agents:
            self._network.open(worker)
        containers.start(self._engine, worker)
        device = containers.create(self._engine, self._settings.device_spec(self._slot, worker))
        try:
            containers.start(self._engine, device)
        except EngineRefused:
            # Where the worker has ended there is nothing to join; how it ended is reported.
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
            if lost.done() and not left.done() and await self._finish(lambda: self._ran(device)):
                # A worker without its device seals what it has, sends it and leaves by itself.
                ends = {left, away}
                await asyncio.wait(
                    ends, timeout=self._settings.seal_s, return_when=asyncio.FIRST_COMPLETED
                )
            if away.done():
                self._slot.report("device_lost", Cause.ENGINE_AWAY, None, self._watch.outage)
                raise NoMorePairs(self._watch.outage)
        finally:
            away.cancel()
        outages = [end.result() for end in (lost, left) if end.done()]
        outage = next(filter(None, outages), "")
        # Reported only now: until its worker has left, what the worker seals is in time.
        if left.done():
            state = await self._finish(lambda: self._inspect(worker))
            code = state.exit_code if state else None
            if code == WorkerExit.ALL_DECIDED:
                return True
            if code != WorkerExit.DEVICE_UNUSABLE and not lost.done():
                await self._report_worker(worker, state, outage)
                return False
            why = "" if lost.done() else "its worker found it unusable"
        else:
            why = "its worker was stopped after it"
            await self._finish(lambda: containers.stop(self._engine, worker, STOP_S))
        await self._report_device(device, why, lost.done(), outage)
        return False

    async def _report_worker(self, worker: str, state: ContainerState | None, outage: str) -> None:
        why = describe_end("worker", state, self._settings.worker.limits)
        cause = Cause.ENGINE_AWAY if outage else end_cause(state)
        text = await self._with_log(f"{outage}\n{why}".strip(), worker)
        self._slot.report("worker_lost", cause, state.exit_code if state else None, text)

    async def _report_device(self, device: str, why: str, lost: bool, outage: str) -> None:
        started = await self._finish(lambda: self._ran(device))
        await self._finish(lambda: containers.stop(self._engine, device, DEVICE_STOP_S))
        state = await self._finish(lambda: self._inspect(device))
        if state and state.exit_code == 0 and not lost:
            state = replace(state, exit_code=None)  # we stopped it
        how = describe_end("device", state, self._settings.device.limits)
        lines = (outage, why if started else "", how)
        text = await self._with_log("\n".join(line for line in lines if line), device)
        cause = end_cause(state)
        if outage and cause is not Cause.OUT_OF_MEMORY:
            cause = Cause.ENGINE_AWAY
        elif state and state.exit_code is None:
            cause = Cause.UNUSABLE if started else Cause.START_TIMEOUT
        kind: FactKind = "device_lost" if started else "device_not_started"
        self._slot.report(kind, cause, end_code(state), text)

    async def _with_log(self, why: str, container: str) -> str:
        """With the container's last lines."""
        try:
            lines = await self._finish(lambda: containers.log_tail(self._engine, container, _LINES))
        except NotThere:
            lines = ""
        return f"{why}\n{lines}".strip()

    def _ran(self, device: str) -> bool:
        """Whether its emulator ever did; else its worker cannot have started an attempt."""
        try:
            return STARTED in containers.log_tail(self._engine, device, _LOG_LINES)
        except NotThere:
            return True  # unknown: its worker gets its time

    def _inspect(self, container: str) -> ContainerState | None:
        try:
            return containers.inspect(self._engine, container)
        except NotThere:
            return None

    def _containers(self) -> tuple[FoundContainer, ...]:
        label = f"{SLOT}={self._slot.name}"
        return containers.find(self._engine, self._settings.owner.label, label)

    def _try_clear(self) -> None:
        try:
            self._clear(self._containers())
        except (EngineAway, EngineRefused) as error:
            # The slot's next pair tries again, and so does the end of the run.
            self._slot.reason = self._slot.reason or str(error)

    def _clear(self, own: Sequence[FoundContainer]) -> None:
        """The worker gives its lease back; then nothing of the slot is on the engine."""
        for container in own:
            if container.name.endswith(WORKER):
                containers.stop(self._engine, container.id, STOP_S)
                self._keep_log(container.id)
        for container in own:
            containers.remove(self._engine, container.id)
        if self._settings.agents:
            self._network.close()

    def _keep_log(self, worker: str) -> None:
        lines = containers.log_tail(self._engine, worker, _LOG_LINES)
        log = self._settings.logs / f"{self._slot.name}.worker.log"
        try:
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{lines}\n" if lines else "")
        except OSError as error:  # a full disk must not keep a container alive
            self._slot.reason = str(error)

    async def _finish(self, call: Callable[[], T]) -> T:
        return await finish(call, self._threads)


def _refusal_cause(error: Exception) -> Cause:
    match error:
        case EngineAway():
            return Cause.ENGINE_AWAY
        case NotThere() if "No such image" in str(error):
            return Cause.IMAGE_ERROR
        case BadRequest():
            return Cause.CONFIG_ERROR
        case _:
            return Cause.RUNTIME_ERROR


def _folder(name: str) -> bytes:
    """An archive of one folder in which the worker may write, whatever its user is."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, 0o777
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.addfile(entry)
    return made.getvalue()
