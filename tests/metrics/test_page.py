"""/metrics of a real coordinator: resumed, stopped, on a full disk, and after the end."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_text

from orchestrator.coordinator.claims import claim_run
from orchestrator.coordinator.coordinator import Coordinator
from orchestrator.coordinator.journal import Journal
from orchestrator.coordinator.ledger import CoordinatorStopped
from orchestrator.coordinator.messages import DeviceStartReport, Lease
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.errors import UsageError
from orchestrator.metrics import page as page_module
from orchestrator.metrics.families import IDENTITY
from orchestrator.metrics.page import SCRAPE_HEADER, MetricsPage
from orchestrator.metrics.run_metrics import RunMetrics
from tests.coordinator.conftest import SECRETS, Served, aside
from tests.coordinator.runs import SETTINGS, a_bundle, a_plan

PLAN = a_plan(2)
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def a_run() -> RunMetrics:
    return RunMetrics.of(PLAN, dict.fromkeys(IDENTITY, "x"))


@asynccontextmanager
async def scraped(run: Path, metrics: RunMetrics) -> AsyncIterator[tuple[Coordinator, str]]:
    page = MetricsPage()
    page.show(metrics)
    async with (
        page.served("127.0.0.1", 0) as url,
        open_run(run, PLAN, SETTINGS, observer=metrics) as coordinator,
    ):
        metrics.state, metrics.check_claim = coordinator.state, coordinator.claim.check
        yield coordinator, url


async def get(url: str, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.get(url, headers=headers)


async def scrape(url: str) -> dict[tuple[str, ...], float]:
    answer = await get(url, **{SCRAPE_HEADER: "10"})
    assert answer.status_code == 200, answer.text
    return {
        (sample.name.removeprefix("emufarm_"), *sample.labels.values()): sample.value
        for family in parse_text(answer.text)
        for sample in family.samples
    }


async def attempt(coordinator: Coordinator, run: Path, bundle: Path, device: str) -> None:
    async with listening(coordinator, SECRETS) as url:
        with Served(coordinator, url, run).client(device) as client:
            await aside(client.device_started, {}, 4.0)
            lease = await aside(client.lease, 0)
            assert isinstance(lease, Lease)
            await aside(client.commit, lease.token, a_bundle(bundle, lease, device))


async def test_a_resumed_run_starts_with_its_counts(tmp_path: Path) -> None:
    """No counter goes down, and none is counted twice."""
    run = tmp_path / "run"
    async with scraped(run, a_run()) as (coordinator, url):
        await attempt(coordinator, run, tmp_path / "one", "a")
        before = await scrape(url)
        assert before["attempts_total", "success"] == before["device_starts_total", "started"] == 1
        assert before["evidence_bytes_total",] > 100
        assert before["commit_seconds_count",] == 1
        assert before["episodes", "decided"] == 1
    async with scraped(run, a_run()) as (coordinator, url):
        resumed = await scrape(url)
        counts = {key for key in before if key[0].endswith("_total")}
        assert {key: resumed[key] for key in counts} == {key: before[key] for key in counts}
        assert resumed["boot_seconds_sum",] == 4.0
        assert resumed["commit_seconds_count",] == 0  # of this process
        await attempt(coordinator, run, tmp_path / "two", "b")
        after = await scrape(url)
        assert all(after[key] >= before[key] for key in counts)
        assert after["attempts_total", "success"] == 2
        assert (after["run_over",], after["episodes", "decided"]) == (1, 2)


async def test_it_needs_no_secret_and_answers_in_the_format_that_is_asked_for(
    tmp_path: Path,
) -> None:
    async with scraped(tmp_path / "run", a_run()) as (_, url):
        plain, opened = await get(url), await get(url, accept=OPENMETRICS)
        assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert opened.headers["content-type"].startswith("application/openmetrics-text; version=1")
        assert opened.text.endswith("# EOF\n")
        for secret in (SECRETS.admin, SECRETS.workers.key, SECRETS.workers.secret("a")):
            assert secret not in plain.text


async def test_until_the_run_is_open_it_says_so() -> None:
    """Not zeros: a counter that has been higher would look as if it had begun again."""
    page = MetricsPage()
    async with page.served("127.0.0.1", 0) as url:
        assert (await get(url)).status_code == 503
        page.show(a_run())
        answer = await get(url)
    assert (answer.status_code, answer.json()) == (503, {"error": "the run is not open yet"})


async def test_a_scrape_is_answered_while_the_disk_is_full_and_the_coordinator_has_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scraped(tmp_path / "run", a_run()) as (coordinator, url):

        def full(self: Journal, file: int, data: bytes) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Journal, "_write", full)
        with pytest.raises(CoordinatorStopped):
            await coordinator.device("a", DeviceStartReport(report_id="r", event="started"))
        found = await scrape(url)
        # It is not in the journal, and the next coordinator would not count it.
        assert found["device_starts_total", "started"] == 0
        assert found["run_over",] == 0


async def test_a_coordinator_whose_run_another_one_has_claimed_shows_nothing(
    tmp_path: Path,
) -> None:
    """Both are scraped as the same series, and what it counted would look like a step down."""
    run, metrics = tmp_path / "run", a_run()
    async with scraped(run, metrics) as (_, url):
        assert (await get(url)).status_code == 200
        claim_run(run)
        answer = await get(url)
    assert answer.status_code == 503
    assert answer.json() == {"error": "another coordinator has the run, and serves its metrics"}


async def test_a_volume_that_does_not_answer_hides_no_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked by one thread at a time, however often somebody scrapes."""
    monkeypatch.setattr(page_module, "LOOK_S", 0.01)
    answers, asked = threading.Event(), list[int]()

    def check() -> None:
        asked.append(1)
        answers.wait(60)
        raise OSError(5, "Input/output error")

    async with scraped(tmp_path / "run", metrics := a_run()) as (_, url):
        metrics.check_claim = check
        for _ in range(3):
            await scrape(url)
        assert asked == [1]
        answers.set()
        await scrape(url)


async def test_a_port_that_is_taken_is_refused_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"127.0.0.1:{port} cannot be listened on"):
            async with MetricsPage().served("127.0.0.1", port):
                pass


async def test_after_the_end_it_waits_for_two_scrapes_more(tmp_path: Path) -> None:
    page, metrics = MetricsPage(), a_run()
    page.show(metrics)
    async with page.served("127.0.0.1", 0) as url:
        async with open_run(tmp_path / "run", PLAN, SETTINGS, observer=metrics) as coordinator:
            metrics.state = coordinator.state
            await scrape(url)
            await scrape(url)
        page.end()
        lingering = asyncio.create_task(page.linger(60))
        assert (await scrape(url))["run_over",] == 1
        for _ in range(3):
            assert (await get(url)).status_code == 200  # a person who looks is no scrape
        assert not lingering.done()
        await scrape(url)
        await asyncio.wait_for(lingering, 10)


async def test_where_nobody_scrapes_it_waits_no_longer_than_it_may() -> None:
    page = MetricsPage()
    page.end()
    await asyncio.wait_for(page.linger(60), 1)  # it has nothing to show
    page.show(a_run())
    await asyncio.wait_for(page.linger(60), 1)  # the run has not ended
    page.end()
    await asyncio.wait_for(page.linger(0.05), 10)
    await asyncio.wait_for(page.linger(0.05), 10)  # the time has passed already
