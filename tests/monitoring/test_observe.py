"""`make observe` watches whichever run is on a port, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from orchestrator.metrics.collector import exposition, registered
from orchestrator.metrics.families import IDENTITY
from orchestrator.metrics.run_metrics import RunMetrics
from tests.e2e.prometheus import Prometheus, run_at
from tests.metrics.journals import PLAN

ROOT = Path(__file__).parents[2]
INFO = 'emufarm_run_info{agent="x",run="night-1",plan="p"} 1\nemufarm_run_over 0\n'
PROGRAM = [sys.executable, "-m", "tests.e2e.prometheus"]


class Metrics(BaseHTTPRequestHandler):
    text = INFO.encode()

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.text)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def served(handler: type[Metrics] = Metrics) -> Iterator[str]:
    """The metrics of a run, and their address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_run_is_known_by_its_info_and_nobody_by_none() -> None:
    with served() as address:
        assert run_at(address) == "night-1"
    assert run_at(address) is None


@pytest.mark.parametrize("name", ['night "1"\n{run="\\other"} 1', "\\n", "plain"])
def test_a_hostile_name_of_a_run_is_read_as_it_is(name: str) -> None:
    """Else its series would have another instance than its run has."""
    metrics = RunMetrics.of(PLAN, dict.fromkeys(IDENTITY, "x") | {"run": name})
    body, _ = exposition(registered(metrics), "")
    with served(type("HostileMetrics", (Metrics,), {"text": body})) as address:
        assert run_at(address) == name


def test_without_prometheus_one_sentence_names_the_package() -> None:
    """Here because apt-get is missing too; as a user because only root may install."""
    done = subprocess.run(
        PROGRAM, cwd=ROOT, env={"PATH": "/nonexistent"}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "install your distribution's package `prometheus`" in done.stderr


@pytest.mark.metrics
def test_both_addresses_are_printed_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    with served() as address:
        watching = subprocess.Popen(
            [*PROGRAM, "--port", address.split(":")[1]], cwd=ROOT, text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert watching.stdout is not None
        lines = list(map(str.strip, map(next, [watching.stdout] * 4)))
        url = lines[0].removeprefix("Prometheus").strip()
        assert url.startswith("http://127.0.0.1:")
        assert lines[1].endswith(f"http://{address}/metrics")
        assert lines[3] == "watching the run night-1"
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 0
        watching.stdout.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.metrics
def test_a_run_becomes_the_instance_of_its_series(tmp_path: Path) -> None:
    with served() as address, Prometheus(tmp_path, "1s") as prometheus:
        prometheus.scrape({"night-1": address})
        read = partial(prometheus.query, 'emufarm_run_over{instance="night-1"}')
        for _ in range(300):
            if read():
                break
            threading.Event().wait(0.1)
        assert read()
        assert prometheus.up() == {"night-1": True}
        assert prometheus.alerts() == {}
        names = {rule["name"] for rule in prometheus.rules()}
        assert {"EmufarmNoProgress", "instance:emufarm_attempts:total"} <= names
