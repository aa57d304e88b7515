"""Serves a planned run to workers that somebody else starts, until every episode is decided."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path

from ..coordinator.credentials import Secrets, WorkerKey
from ..coordinator.open_run import open_run
from ..coordinator.server import listening
from ..errors import RunInterrupted, UsageError
from ..files import write_atomically
from .documents import seal
from .interruption import blocking
from .recorded import given_again, recorded, require_unchanged_cases
from .run_events import Notice, OnEvent, ignore
from .runs import RUNS, Run

FOLDER = "secrets"  # in the run's: the admins' secret, the key of the workers', each worker's own
ADMIN, KEY = "admin", "workers.key"


def serve(
    run: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    devices: Sequence[str] = (),
    agent: str = "",
    runs: str | Path = RUNS,
    without_evidence: bool = False,
    on_event: OnEvent = ignore,
) -> bool:
    """Whether every episode is decided. Secrets are files in the folder `secrets` of the run's:
    `admin`, and one for the worker of each of these devices, called as the device is. `agent` is
    given again where the run has masked words of it. `without_evidence`: go on where bundles that
    were committed are gone or damaged."""
    opened = Run.open(run, runs)
    allowed = _secrets(opened.folder / FOLDER, devices)

    async def serving(asked: asyncio.Event) -> bool:
        return await _serve(
            opened, allowed, host, port, agent, on_event, asked, without_evidence=without_evidence
        )

    return blocking(serving, on_event)


async def _serve(
    run: Run,
    allowed: Secrets,
    host: str,
    port: int,
    agent: str,
    on_event: OnEvent,
    interrupted: asyncio.Event,
    *,
    without_evidence: bool,
) -> bool:
    folder, plan = run.folder, run.plan
    before = recorded(folder, plan)
    unmasked, same = given_again(folder, plan, before, agent)
    if not same:
        raise UsageError(f"--agent has other masked words than when {folder} was planned")
    require_unchanged_cases(folder, plan, before.cases_folder)
    async with (
        open_run(
            folder, plan, before.settings, agent=unmasked, without_evidence=without_evidence
        ) as coordinator,
        listening(coordinator, allowed, host, port) as url,
    ):
        on_event(Notice(f"{folder}: {len(plan.episodes)} episodes, workers at {url}"))
        ends = [asyncio.ensure_future(e) for e in (coordinator.over.wait(), interrupted.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        if coordinator.state.finished:
            await seal(folder, coordinator)
        elif interrupted.is_set():
            raise RunInterrupted(f"interrupted; `emufarm coordinator {folder}` goes on with it")
        return coordinator.state.finished


def _secrets(folder: Path, devices: Sequence[str]) -> Secrets:
    """Those that are there, and new ones; only their owner can read them."""
    folder.mkdir(mode=0o700, exist_ok=True)
    made = secrets.token_urlsafe
    allowed = Secrets(WorkerKey(_kept(folder / KEY, made(24))), _kept(folder / ADMIN, made(24)))
    for device in devices:
        _kept(folder / device, allowed.workers.secret(device))
    return allowed


def _kept(path: Path, new: str) -> str:
    if not path.exists():
        write_atomically(path, [new.encode()])
        path.chmod(0o600)  # its folder lets nobody else in before
    return path.read_text().strip()
