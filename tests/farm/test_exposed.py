"""A run's metrics on a port of the command's machine: what they say of it, and when they end."""

from __future__ import annotations

import asyncio
import math
import socket
from pathlib import Path

import httpx
import pytest

from orchestrator.coordinator.state import new_state
from orchestrator.errors import RunInterrupted, UsageError
from orchestrator.farm.exposed import (
    MetricsPort,
    exposing,
    looking_at_room,
    public_agent,
    run_metrics,
    volume_room,
)
from orchestrator.farm.runner import require_port
from orchestrator.metrics.page import SCRAPE_HEADER
from tests.coordinator.runs import a_plan


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("reference", "reference"),
        ("image:my/agent:1@sha256:" + "0" * 64, "image:my/agent:1@sha256:" + "0" * 64),
        ("command:/home/me/agent.py --key s3cret", "command:agent.py"),
        ("command:", "command:"),
        ("https://me:s3cret@host:8443/act?key=s3cret", "https://host:8443"),
        ("http://10.0.0.7/s3cret", "http://10.0.0.7"),
    ],
)
def test_an_agent_s_secrets_are_in_no_label(spec: str, shown: str) -> None:
    assert public_agent(spec) == shown


def test_the_identity_is_the_run_s() -> None:
    told = run_metrics("nightly", a_plan(1), "0" * 64, "local").identity
    assert (told["run"], told["agent"], told["backend"]) == ("nightly", "reference", "local")
    assert told["plan"] == a_plan(1).digest


def test_a_port_that_is_taken_or_is_none_is_a_usage_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"--metrics-port {port} cannot be listened on"):
            require_port(MetricsPort(port), "local")
    with pytest.raises(UsageError, match="--metrics-port 70000"):
        require_port(MetricsPort(70_000), "local")
    require_port(None, "kubernetes")
    with pytest.raises(UsageError, match="on a cluster the coordinator's Pod serves"):
        require_port(MetricsPort(0), "kubernetes")


async def test_somebody_who_asks_the_run_to_end_does_not_wait_for_scrapes(tmp_path: Path) -> None:
    metrics, asked, heard = run_metrics("r", a_plan(1), "", "local"), asyncio.Event(), list[str]()
    async with asyncio.timeout(30):
        async with exposing(metrics, tmp_path, MetricsPort(0), asked, heard.append):
            asked.set()
    assert len(heard) == 1
    assert heard[0].startswith("metrics: http://127.0.0.1:")
    asked.clear()
    async with asyncio.timeout(30):
        async with exposing(metrics, tmp_path, MetricsPort(0, 600.0), asked, heard.append):
            asyncio.get_running_loop().call_later(0.1, asked.set)
    assert heard[-1] == "metrics: served for two scrapes more, at most 600 s"


async def test_a_run_that_ends_with_no_device_left_is_over_while_it_is_served_on(
    tmp_path: Path,
) -> None:
    """Although not all of it is decided: nobody shall miss it. An interrupted one is not over,
    and is not served on."""
    plan = a_plan(1)
    metrics, heard, lingers = run_metrics("r", plan, "", "local"), list[str](), asyncio.Event()

    def notify(text: str) -> None:
        heard.append(text)
        if "two scrapes more" in text:
            lingers.set()

    expected = {episode.id: 10.0 for episode in plan.episodes}
    metrics.state = new_state(plan.episodes, expected, lease_s=30, attempts=3)
    async with asyncio.timeout(30), httpx.AsyncClient(trust_env=False) as client:

        async def over() -> bool:
            url = heard[0].removeprefix("metrics: ")
            answer = await client.get(url, headers={SCRAPE_HEADER: "10"})
            return "emufarm_run_over 1.0" in answer.text

        async def scraped_twice() -> list[bool]:
            await lingers.wait()
            return [await over(), await over()]

        async with exposing(metrics, tmp_path, MetricsPort(0, 600.0), asyncio.Event(), notify):
            assert not await over()
            scraping = asyncio.create_task(scraped_twice())
        assert await scraping == [True, True]
        metrics.over = False
        with pytest.raises(RunInterrupted):
            async with exposing(metrics, tmp_path, MetricsPort(0, 600.0), asyncio.Event(), notify):
                raise RunInterrupted("somebody")
    assert not metrics.over


async def test_the_disk_is_looked_at_beside_the_scrapes(tmp_path: Path) -> None:
    metrics = run_metrics("r", a_plan(1), "", "local")
    assert math.isnan(metrics.room.free)
    async with looking_at_room(metrics, tmp_path):
        for _ in range(3000):
            if not math.isnan(metrics.room.free):
                break
            await asyncio.sleep(0.01)
    assert 0 < metrics.room.free <= metrics.room.size


def test_a_disk_that_does_not_answer_is_unknown(tmp_path: Path) -> None:
    assert math.isnan(volume_room(tmp_path / "away").size)
