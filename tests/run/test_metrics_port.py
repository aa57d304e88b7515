"""`--metrics-port` serves what a real run counts, and is refused where it is taken."""

from __future__ import annotations

import os
import signal
import socket
import threading
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families as parse_text

from orchestrator.coordinator.transitions import AttemptCommitted, BundleStored, DeviceStarted
from orchestrator.metrics.page import SCRAPE_HEADER
from tests.ports import even_port
from tests.run.conftest import Farm, ended
from tests.run.test_road import wait_for

SMOKE = "cases/smoke"


class Scraper:
    """Scrapes a port until its process ends; keeps every answer."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/metrics"
        self._over = threading.Event()
        self.answers: list[dict[tuple[str, ...], float]] = []
        self._thread = threading.Thread(target=self._scrape)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _scrape(self) -> None:
        open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
        asked = urllib.request.Request(self._url, headers={SCRAPE_HEADER: "10"})
        while not self._over.wait(0.2):
            try:
                with open_url(asked, timeout=10) as answer:
                    self.answers.append(values(answer.read().decode()))
            except (urllib.error.URLError, OSError):
                continue  # it does not listen yet, is not open yet, or has ended


def values(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name.removeprefix("emufarm_"), *sample.labels.values()): sample.value
        for family in parse_text(text)
        for sample in family.samples
    }


def test_what_is_scraped_is_what_the_journal_and_the_report_say(farm: Farm) -> None:
    """The last of two scrapes after the end has all of it; the command waits for them."""
    port = even_port()
    words = ("--devices", "1", "--backend", "local", "--metrics-port", str(port))
    process = farm.start("run", SMOKE, "--runs", str(farm.runs), "--run", "r", *words)
    scraper = Scraper(port)
    try:
        code, output = ended(process)
    finally:
        scraper.end()
    assert code == 0, output
    assert f"metrics: http://127.0.0.1:{port}/metrics" in output
    last = scraper.answers[-1]
    events, report = farm.events(), farm.report()
    commits = [event for event in events if isinstance(event, AttemptCommitted)]
    outcomes = Counter(event.judgement.outcome.value for event in commits)
    for outcome, count in outcomes.items():
        assert last["attempts_total", outcome] == count
    assert report["infrastructure"]["attempts"] == sum(outcomes.values())
    stored = sum(event.bundle_bytes for event in events if isinstance(event, BundleStored))
    on_disk = [
        path.stat().st_size
        for path in farm.runs.glob("r/episodes/*/attempt-*/**/*")
        if path.is_file()
    ]
    assert last["evidence_bytes_total",] == stored == sum(on_disk)
    starts = [event for event in events if isinstance(event, DeviceStarted)]
    assert last["device_starts_total", "started"] == last["boot_seconds_count",] == len(starts)
    assert (last["run_over",], last["episodes", "pending"]) == (1, 0)
    assert 0 < last["volume_free_bytes",] < last["volume_size_bytes",]
    for one, other in zip(scraper.answers, scraper.answers[1:], strict=False):
        assert all(other[key] >= one[key] for key in one if key[0].endswith("_total"))


def test_a_taken_port_is_exit_2_before_anything_starts(farm: Farm, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = ("--devices", "1", "--backend", "local", "--metrics-port", port)
        code, output = farm.run(SMOKE, *words)
        assert code == 2, output
        assert f"--metrics-port {port} cannot be listened on" in output
    assert not (farm.runs / "r").exists()


def test_a_killed_run_that_is_resumed_on_the_same_port_loses_no_count_and_doubles_none(
    farm: Farm,
) -> None:
    """What was scraped before the kill is in the journal, or it was never scraped."""
    port = even_port()
    on = ("--devices", "1", "--metrics-port", str(port), "--metrics-linger", "30")
    process = farm.start(
        "run", "cases/public", "-k", "sms_reply", "--backend", "local", "--runs", str(farm.runs),
        "--run", "r", *on,
    )  # fmt: skip
    scraper = Scraper(port)
    try:
        wait_for(lambda: attempts(scraper) > 0, process)
        os.killpg(process.pid, signal.SIGKILL)
        ended(process)
        known = len(scraper.answers)
        code, output = farm.resume("r", *on)
    finally:
        scraper.end()
    assert code == 0, output
    before, resumed, last = scraper.answers[known - 1], scraper.answers[known], scraper.answers[-1]
    counters = [key for key in before if key[0].endswith(("_total", "_bucket", "_count"))]
    own = ("commit_seconds", "journal_sync_seconds")  # of one process
    assert [key for key in counters if resumed[key] < before[key] and key[0].startswith(own)]
    kept = [key for key in counters if not key[0].startswith(own)]
    assert [key for key in kept if not before[key] <= resumed[key] <= last[key]] == []
    ended_attempts = [event for event in farm.events() if isinstance(event, AttemptCommitted)]
    assert attempts(scraper) == len(ended_attempts) == 2


def attempts(scraper: Scraper) -> float:
    last = scraper.answers[-1] if scraper.answers else {}
    return sum(value for key, value in last.items() if key[0] == "attempts_total")
