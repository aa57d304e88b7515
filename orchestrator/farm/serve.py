"""Serves a planned run to workers that somebody else starts, until every episode is decided."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

from ..coordinator.open_run import open_run
from ..coordinator.server import Secrets, listening
from ..errors import RunInterrupted
from .documents import seal
from .interruption import blocking
from .recorded import recorded, require_unchanged_cases
from .run_events import Notice, OnEvent, ignore
from .runs import RUNS, Run

WORKER_SECRET, ADMIN_SECRET = "worker.token", "admin.token"


def serve(
    run: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    runs: str | Path = RUNS,
    on_event: OnEvent = ignore,
) -> bool:
    """Whether every episode is decided. The two secrets are files in the run's folder."""
    opened = Run.open(run, runs)
    return blocking(lambda asked: _serve(opened, host, port, on_event, asked), on_event)


async def _serve(
    run: Run, host: str, port: int, on_event: OnEvent, interrupted: asyncio.Event
) -> bool:
    folder, plan = run.folder, run.plan
    before = recorded(folder, plan)
    require_unchanged_cases(folder, plan, before.cases_folder)
    allowed = Secrets(_secret(folder / WORKER_SECRET), _secret(folder / ADMIN_SECRET))
    async with (
        open_run(folder, plan, before.settings) as coordinator,
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


def _secret(path: Path) -> str:
    """The one that is there, or a new one that only its owner can read."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(24))
    return path.read_text().strip()
