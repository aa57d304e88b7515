"""`emufarm coordinator`: a run's coordinator alone, for workers that somebody else starts."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Annotated

import typer

from ..coordinator.listening import listening
from ..coordinator.opening import open_run
from ..coordinator.server import Secrets
from ..farm.execute import Interrupted, interruptible
from ..farm.sealing import seal
from ..plan.store import FILE as PLAN
from ..plan.store import read_plan
from .run import INCOMPLETE, settings_of


def coordinator(
    place: Annotated[Path, typer.Argument(help="The run's folder.", metavar="RUN")],
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")] = 0,
) -> None:
    """Serve a planned run to workers until all is decided.

    The two secrets are files in the run's folder: worker.token and admin.token.

    Example: emufarm coordinator runs/20310512-091500-ab12cd --port 8000
    """
    if not asyncio.run(_serve(place, host, port)):
        raise typer.Exit(INCOMPLETE)


async def _serve(place: Path, host: str, port: int) -> bool:
    plan = read_plan(place / PLAN)
    words = Secrets(_secret(place / "worker.token"), _secret(place / "admin.token"))
    with interruptible() as interrupted:
        async with (
            open_run(place, plan, settings_of(place, plan)) as run,
            listening(run, words, host, port) as url,
        ):
            typer.echo(f"{place}: {len(plan.episodes)} episodes, workers at {url}")
            ends = [asyncio.ensure_future(e) for e in (run.over.wait(), interrupted.wait())]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                end.cancel()
            if run.state.finished:
                await seal(place, run)
            elif interrupted.is_set():
                raise Interrupted(f"interrupted; `emufarm coordinator {place}` goes on with it")
            return run.state.finished


def _secret(path: Path) -> str:
    """The one that is there, or a new one that only its owner can read."""
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(24))
    return path.read_text().strip()
