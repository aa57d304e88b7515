"""A device on this machine and the worker processes that own it, from its start to its end.

A worker that crashed is started again on the same device and sends what its predecessor sealed; a
device that is lost ends the pair, and its slot makes another.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import EmufarmError
from ...worker.exit_codes import WorkerExit
from ..slot import Bounds, Slot
from ..threads import whole
from .device import Golden, LocalDevice
from .exits import as_shell, exited
from .last_words import last_words, tail
from .worker_process import WorkerProcess


@dataclass(frozen=True)
class Pair:
    """What a worker is told of its device."""

    slot: str
    device: str  # <slot>.<n>: the n-th device in this slot
    serial: str
    adb_port: int
    console_port: int
    control_port: int
    token_file: Path  # of the supervisor's control port
    staging: Path  # the slot's own, kept from worker to worker


@dataclass(frozen=True)
class Terms:
    """How every pair of a fleet is made."""

    golden: Golden
    emulator: Callable[[int], Sequence[str]]  # the command for a slot's number
    adb: Path
    worker_command: Callable[[Pair], Sequence[str]]
    device_env: Mapping[str, str]
    worker_env: Mapping[str, str]
    work: Path  # the devices' copies; gone with them
    staging: Path  # sealed bundles on their way; kept
    logs: Path  # what workers printed; kept
    starts: int  # of a slot's device, and crashes of its worker, before it is given up
    last_word_s: float  # how long a device that ended waits for its worker to ask why
    seal_s: float = 60.0  # for a worker to notice that its device is gone, and to send what it has
    # A slot's first device number, where an earlier start of this run used the lower ones.
    first: Mapping[str, int] = field(default_factory=dict)

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.starts, self.first)


class LocalPair:
    def __init__(self, slot: Slot, terms: Terms, threads: Executor) -> None:
        self._slot = slot
        self._terms = terms
        self._threads = threads

    async def live(self) -> bool:
        """True once the worker has left for good; else this device is of no more use."""
        terms, slot = self._terms, self._slot
        folder = terms.work / slot.device
        command = terms.emulator(slot.number)
        device = LocalDevice(
            folder, terms.golden, command, adb=terms.adb, env=terms.device_env,
            last_word_s=terms.last_word_s,
        )  # fmt: skip
        try:
            try:
                await self._start(device)
            except (EmufarmError, OSError) as error:
                slot.tell("device_not_started", _exit_code(device), str(error))
                return False
            try:
                return await self._keep(device)
            finally:
                await self._stop(device)
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # what stays goes with the work folder

    async def _keep(self, device: LocalDevice) -> bool:
        """Workers on one device, one after another while they crash."""
        assert device.pid is not None
        lost = asyncio.ensure_future(exited(device.pid))
        unusable = False
        try:
            while not self._slot.worn_out and not lost.done() and not unusable:
                code = await self._one_worker(device, lost)
                if code == WorkerExit.ALL_DECIDED:
                    return True
                unusable = code == WorkerExit.DEVICE_UNUSABLE
        finally:
            gone = lost.done()
            lost.cancel()
        if gone or unusable:
            # Told only now: until its worker has left, what that one seals is in time. And a
            # supervisor on its way out still ends with its emulator's code.
            await self._stop(device)
            why = "" if gone else "its worker found it unusable\n"
            self._slot.tell("device_lost", _exit_code(device) or None, why + last_words(device))
        return False

    async def _one_worker(self, device: LocalDevice, lost: asyncio.Future[Any]) -> int | None:
        """Its exit code; None where it did not start, or was told to follow its device."""
        log = self._terms.logs / f"{self._slot.name}.worker.log"
        try:
            command = self._terms.worker_command(self._pair(device))
            worker = WorkerProcess(command, self._terms.worker_env, log)
        except OSError as error:
            return await self._crashed(None, str(error))
        self._slot.state = "running"
        try:
            either: set[asyncio.Future[Any]] = {lost, worker.ended}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            # A worker without its device seals what it has, sends it and leaves by itself.
            await asyncio.wait({worker.ended}, timeout=self._terms.seal_s)
        finally:
            told = not worker.ended.done()
            await worker.stop()
        code = worker.ended.result()
        if code in (
            WorkerExit.ALL_DECIDED,
            WorkerExit.DEVICE_UNUSABLE,
            WorkerExit.STOPPED if told else None,
        ):
            return None if told else code
        return await self._crashed(code, tail(log))

    async def _crashed(self, code: int | None, text: str) -> int | None:
        await asyncio.sleep(self._slot.crashed(code, text))
        return code

    def _pair(self, device: LocalDevice) -> Pair:
        staging = self._terms.staging / self._slot.name
        staging.mkdir(parents=True, exist_ok=True)
        return Pair(
            self._slot.name, self._slot.device, device.serial, device.adb_port, device.console_port,
            device.control_port, device.token_file, staging,
        )  # fmt: skip

    async def _start(self, device: LocalDevice) -> None:
        loop = asyncio.get_running_loop()
        start = loop.run_in_executor(self._threads, device.__enter__)
        try:
            await asyncio.shield(start)
        except asyncio.CancelledError:
            # The thread cannot be stopped, but what it waits for can.
            while not start.done():
                device.terminate()
                await asyncio.wait({start}, timeout=0.1)
            if not start.cancelled() and start.exception() is None:
                await self._stop(device)
            raise

    async def _stop(self, device: LocalDevice) -> None:
        await whole(device.stop, self._threads)


def _exit_code(device: LocalDevice) -> int | None:
    code = device.ended()
    return None if code is None else as_shell(code)
