"""A local pair: a device on this machine and the worker processes on it, from start to end.

A worker that crashed is started again on the same device and sends what its predecessor sealed. A
device that is lost ends the pair, and its slot makes another.
"""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...device.adb import adb_binary
from ...errors import EmufarmError
from ...outcome import Cause, exit_cause
from ...worker.arguments import WorkerArguments, WorkerExit
from ..blocking import finish
from ..emulator_command import EmulatorCommand
from ..port import FleetOrder
from ..slot import Slot
from .device import DeviceNotStarted, Golden, LocalDevice, tail
from .environment import worker_env
from .process import WorkerProcess, exited, secret_pipe, shell_exit_code


@dataclass(frozen=True)
class LocalPairSettings:
    """What all pairs of a local fleet have in common."""

    order: FleetOrder
    golden: Golden
    emulator: EmulatorCommand
    lock: Path  # the image's
    profile: str
    worker: tuple[str, ...]  # the program that takes a worker's arguments
    staging: Path  # sealed bundles on their way; kept
    logs: Path  # the workers' output; kept
    seal_s: float  # for a worker to notice that its device is gone, and to send what it has


class LocalPair:
    def __init__(self, slot: Slot, settings: LocalPairSettings, threads: Executor) -> None:
        self._slot = slot
        self._settings = settings
        self._threads = threads

    async def run(self) -> bool:
        """True once the worker has left for good; False if the slot needs another pair."""
        settings, slot = self._settings, self._slot
        folder = settings.order.work / slot.device
        device = LocalDevice(
            folder, settings.golden, settings.emulator.for_slot(slot.number), adb=adb_binary(),
            linger_s=settings.order.linger_s,
        )  # fmt: skip
        try:
            try:
                await self._start(device)
            except (EmufarmError, OSError) as error:
                slot.report("device_not_started", *_why_not_started(error, device), str(error))
                return False
            try:
                return await self._keep(device)
            finally:
                await self._stop(device)
        finally:
            for place in (folder, self._scratch):
                shutil.rmtree(place, ignore_errors=True)  # the rest goes with the work folder

    async def _keep(self, device: LocalDevice) -> bool:
        """Runs workers on one device, one after another while they crash."""
        assert device.pid is not None
        lost = asyncio.ensure_future(exited(device.pid))
        unusable = False
        try:
            while not self._slot.exhausted and not lost.done() and not unusable:
                code = await self._run_worker(device, lost)
                if code == WorkerExit.ALL_DECIDED:
                    return True
                unusable = code == WorkerExit.DEVICE_UNUSABLE
        finally:
            gone = lost.done()
            lost.cancel()
        if gone or unusable:
            # Reported only now: until its worker has left, what the worker seals is in time. And a
            # supervisor that is stopping still ends with its emulator's code.
            await self._stop(device)
            code = _exit_code(device)
            cause = exit_cause(code) if gone or code else Cause.UNUSABLE
            why = "" if gone else "its worker found it unusable\n"
            self._slot.report("device_lost", cause, code or None, why + device.last_output())
        return False

    async def _run_worker(self, device: LocalDevice, lost: asyncio.Future[Any]) -> int | None:
        """Its exit code; None where it did not start, or was stopped because its device ended."""
        log = self._settings.logs / f"{self._slot.name}.worker.log"
        try:
            worker = self._worker(device, log)
        except OSError as error:
            return await self._crashed(None, Cause.RUNTIME_ERROR, str(error))
        self._slot.state = "running"
        try:
            either: set[asyncio.Future[Any]] = {lost, worker.ended}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            # A worker without its device seals what it has, sends it and leaves by itself.
            await asyncio.wait({worker.ended}, timeout=self._settings.seal_s)
        finally:
            stopped = not worker.ended.done()
            await worker.stop()
        code = worker.ended.result()
        if code in (WorkerExit.ALL_DECIDED, WorkerExit.DEVICE_UNUSABLE):
            return None if stopped else code
        if stopped and code == WorkerExit.STOPPED:
            return None
        return await self._crashed(code, exit_cause(code), tail(log))

    async def _crashed(self, code: int | None, cause: Cause, text: str) -> int | None:
        self._slot.report("worker_lost", cause, code, text)
        await asyncio.sleep(self._slot.pause_s)
        return code

    @property
    def _scratch(self) -> Path:
        """Of a worker: apart from the device's folder, whose secrets are not for its agents."""
        return self._settings.order.work / f"{self._slot.device}.worker"

    def _new_scratch(self) -> Path:
        """Empty, whatever a worker left that was killed, such as the home folder of an agent."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(parents=True, exist_ok=True)
        return self._scratch

    def _worker(self, device: LocalDevice, log: Path) -> WorkerProcess:
        """Started; its two secrets wait for it in pipes."""
        own = self._settings.order.key.secret(self._slot.device)
        with secret_pipe(own) as token, secret_pipe(device.control_token) as control:
            arguments = self._arguments(
                device, Path(f"/dev/fd/{token}"), Path(f"/dev/fd/{control}")
            )
            command = [*self._settings.worker, *arguments.words()]
            return WorkerProcess(command, worker_env(self._new_scratch()), log, (token, control))

    def _arguments(self, device: LocalDevice, token: Path, control: Path) -> WorkerArguments:
        staging = self._settings.staging / self._slot.name
        staging.mkdir(parents=True, exist_ok=True)
        return WorkerArguments(
            coordinator=self._settings.order.coordinator,
            token_file=token,
            device=self._slot.device,
            control_port=device.control_port,
            control_token_file=control,
            staging=staging,
            lock=self._settings.lock,
            profile=self._settings.profile,
            boot_s=self._settings.order.boot_s,
            away_s=self._settings.order.away_s,
            tied=True,
        )

    async def _start(self, device: LocalDevice) -> None:
        loop = asyncio.get_running_loop()
        start = loop.run_in_executor(self._threads, device.__enter__)
        try:
            await asyncio.shield(start)
        except asyncio.CancelledError:
            # The thread cannot be stopped, but the process that it waits for can.
            while not start.done():
                device.terminate()
                await asyncio.wait({start}, timeout=0.1)
            if not start.cancelled() and start.exception() is None:
                await self._stop(device)
            raise

    async def _stop(self, device: LocalDevice) -> None:
        await finish(device.stop, self._threads)


def _exit_code(device: LocalDevice) -> int | None:
    code = device.ended()
    return None if code is None else shell_exit_code(code)


def _why_not_started(error: Exception, device: LocalDevice) -> tuple[Cause, int | None]:
    match error:
        case DeviceNotStarted(timed_out=True):
            return Cause.START_TIMEOUT, None  # we ended it
        case DeviceNotStarted():
            code = _exit_code(device)
            return exit_cause(code), code
        case OSError():
            return Cause.RUNTIME_ERROR, None
        case _:  # no free port, for example, which may pass
            return Cause.UNKNOWN, None
