"""Lists runs wherever they are: those of a cluster's namespace, and those of this machine."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...coordinator import chain
from ...coordinator.transitions import AttemptCommitted, AttemptFenced
from ...errors import EmufarmError
from ...fleet.kubernetes.api import Json
from ...plan.store import FILE as PLAN
from ...report import build as report
from ..interruption import blocking
from ..run_events import ignore
from ..runs import RUNS
from .options import ClusterOptions
from .reach import FarmNamespace, farm_namespace


@dataclass(frozen=True)
class ListedRun:
    """A run, wherever it is."""

    name: str
    place: str  # a namespace of a cluster, or a folder of this machine
    phase: str
    done: str
    success: int
    infra: int
    devices: int
    pulled: bool  # somebody has all of it; of a folder: all of a sealed run is in it


def cluster_runs(options: ClusterOptions) -> list[ListedRun]:
    """Those of a namespace, the latest first."""

    async def work(asked: asyncio.Event) -> list[ListedRun]:
        async with farm_namespace(options.namespace, options.context) as farm:
            return [_listed(farm, one) for one in await farm.runs()]

    return blocking(work, ignore)


def local_runs(runs: str | Path = RUNS) -> list[ListedRun]:
    """Those in a folder of this machine, the latest first."""
    plans = sorted(Path(runs).glob(f"*/{PLAN}"), key=lambda each: each.stat().st_mtime)
    found = []
    for path in reversed(plans):
        try:
            done = report.compute(path.parent)
        except (EmufarmError, OSError):
            found.append(ListedRun(path.parent.name, str(runs), "Unreadable", "", 0, 0, 0, False))
            continue
        outcomes = [each.final.outcome for each in done.episodes if each.final is not None]
        found.append(
            ListedRun(
                path.parent.name, str(runs), "Complete" if done.complete else "Unfinished",
                f"{len(outcomes)}/{len(done.episodes)}",
                sum(outcome == "success" for outcome in outcomes),
                done.infrastructure.attempts_failed, 0, done.complete and _whole(path.parent),
            )
        )  # fmt: skip
    return found


def _whole(folder: Path) -> bool:
    """Every bundle that the journal names is there; a pull that was broken off has them not."""
    return all(
        (folder / line.event.bundle).is_dir()
        for line in chain.JournalReader(folder / chain.FOLDER)
        if isinstance(line.event, AttemptCommitted | AttemptFenced)
    )


def _listed(farm: FarmNamespace, farm_run: Json) -> ListedRun:
    status: dict[str, Any] = farm_run.get("status") or {}
    return ListedRun(
        farm_run["metadata"]["name"], farm.name, str(status.get("phase", "Pending")),
        str(status.get("done", f"0/{farm_run['spec']['episodes']}")),
        int(status.get("success", 0)), int(status.get("infra", 0)),
        int(status.get("devices", 0)), bool(status.get("pulled")),
    )  # fmt: skip
