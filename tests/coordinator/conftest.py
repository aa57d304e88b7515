"""A coordinator on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

import httpx
import pytest

from orchestrator.coordinator.client import CoordinatorClient
from orchestrator.coordinator.coordinator import Coordinator
from orchestrator.coordinator.credentials import Secrets, WorkerKey
from orchestrator.coordinator.messages import TOKEN_HEADER
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from tests.coordinator.runs import SETTINGS, a_plan

P = ParamSpec("P")
T = TypeVar("T")

SECRETS = Secrets(WorkerKey("the key of the workers' secrets"), admin="the admins' secret")


@dataclass(frozen=True)
class Served:
    coordinator: Coordinator
    url: str
    run: Path

    def client(self, device: str, away_s: float = 0.0) -> CoordinatorClient:
        secret = SECRETS.workers.secret(device)
        return CoordinatorClient(self.url, secret, worker=f"worker-{device}", away_s=away_s)

    def http(self, secret: str) -> httpx.AsyncClient:
        headers = {TOKEN_HEADER: secret}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60.0, trust_env=False)


async def aside(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The client waits for answers, so it is called beside the loop that gives them."""
    return await asyncio.to_thread(call, *args, **kwargs)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """A run of three episodes."""
    run = tmp_path / "runs" / "one"
    async with (
        open_run(run, a_plan(3), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        yield Served(coordinator, url, run)
