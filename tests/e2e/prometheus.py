"""Installs, starts and ends a real Prometheus on loopback that knows the farm's rules.

It is Debian's, started by hand with its own configuration, data folder and port, and ends with its
parent. Started as a program it watches a local run for a person, whichever run is on that port.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.engine import NoEngine, install
from tests.ports import even_port

RULES = Path(__file__).parents[2] / "k8s" / "monitoring" / "rules"
PACKAGE = "prometheus"
START_S, STOP_S, ASK_S = 60.0, 30.0, 30.0
LOOK_S = 2.0  # between two looks at which run is on a port
RUN = re.compile(r'^emufarm_run_info\{(?:.*,)?run="((?:[^"\\]|\\.)*)"', re.MULTILINE)


class NoPrometheus(Exception):
    """This machine cannot run one, and why."""


def install_prometheus() -> None:
    """Debian's package, with promtool; nothing where both are there."""
    try:
        install({"prometheus": PACKAGE, "promtool": PACKAGE})
    except NoEngine as error:
        raise NoPrometheus(
            f"Prometheus is missing and cannot be installed ({error}): "
            f"install your distribution's package `{PACKAGE}`."
        ) from error


@dataclass(frozen=True)
class Place:
    """Where one runs and listens; this machine, unless said otherwise."""

    address: str = "127.0.0.1"
    enter: tuple[str, ...] = ()  # what stands before a command that runs there


class Prometheus:
    """One of our own; its targets are runs by their names, and may change while it runs."""

    def __init__(
        self,
        folder: Path,
        interval: str = "1s",
        place: Place = Place(),  # noqa: B008  # frozen
        job: Mapping[str, Any] | None = None,
    ) -> None:
        """`job`: what its scrape job says besides where its targets are."""
        self._folder = folder
        self._interval = interval
        self._place = place
        self._job = job or {"job_name": "emufarm"}
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def __enter__(self) -> Prometheus:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def scrape(self, targets: Mapping[str, str]) -> None:
        """From now on: run -> host:port."""
        self.find([{"targets": [at], "labels": {"instance": run}} for run, at in targets.items()])

    def find(self, groups: Sequence[Mapping[str, Any]]) -> None:
        """From now on: targets, and the labels that they have before the job's relabelling."""
        fresh = self._folder / "targets.tmp"
        fresh.write_text(json.dumps(groups))
        fresh.replace(self._folder / "targets.json")

    def start(self) -> None:
        """On the data that it left, if it was here before."""
        install_prometheus()
        self._folder.mkdir(parents=True, exist_ok=True)
        if not (self._folder / "targets.json").exists():
            self.scrape({})
        (self._folder / "prometheus.yaml").write_text(json.dumps(self._configuration()))
        address = f"{self._place.address}:{even_port()}"
        self.url = f"http://{address}"
        log = self._folder / "prometheus.log"
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [
                    *self._place.enter,
                    # Whoever kills the parent ends it too.
                    "setpriv", "--pdeathsig", "TERM", "--", PACKAGE,
                    f"--config.file={self._folder}/prometheus.yaml",
                    f"--storage.tsdb.path={self._folder}/data",
                    f"--web.listen-address={address}",
                ],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + START_S
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(errors="replace")
                self.stop()
                raise NoPrometheus(f"Prometheus does not answer: {said[-1000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """In order; killed where that takes too long."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_S)

    def query(self, expression: str, at: float | None = None) -> list[dict[str, Any]]:
        """The samples of an instant query, each with `metric` and `value`."""
        moment = {} if at is None else {"time": str(at)}
        found: list[dict[str, Any]] = self._ask("query", query=expression, **moment)["result"]
        return found

    def query_range(
        self, expression: str, start: float, end: float, step: float
    ) -> list[dict[str, Any]]:
        """The series of a range query, each with `metric` and `values`."""
        span = {"start": str(start), "end": str(end), "step": str(step)}
        found: list[dict[str, Any]] = self._ask("query_range", query=expression, **span)["result"]
        return found

    def rules(self) -> list[dict[str, Any]]:
        """Every rule as it stands: its `health`, `lastError`, `state` and `alerts`."""
        return [rule for group in self._ask("rules")["groups"] for rule in group["rules"]]

    def alerts(self) -> dict[str, str]:
        """The alerts that fire or wait to: `firing` or `pending`, by name."""
        alerting = (rule for rule in self.rules() if rule["type"] == "alerting")
        return {rule["name"]: rule["state"] for rule in alerting if rule["state"] != "inactive"}

    def up(self) -> dict[str, bool]:
        """Whether the last scrape of each run was answered."""
        return {one["metric"]["instance"]: one["value"][1] == "1" for one in self.query("up")}

    def _configuration(self) -> dict[str, Any]:
        discovery = {"files": [f"{self._folder}/targets.json"], "refresh_interval": "1s"}
        every = {"scrape_interval": self._interval, "scrape_timeout": self._interval}
        return {
            "global": {**every, "evaluation_interval": self._interval},
            "rule_files": [f"{RULES}/*.yaml"],
            "scrape_configs": [{**self._job, "file_sd_configs": [discovery]}],
        }

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def _ask(self, path: str, **words: str) -> dict[str, Any]:
        asked = urllib.parse.urlencode(words)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{asked}", timeout=ASK_S) as said:
                data: dict[str, Any] = json.load(said)["data"]
                return data
        except urllib.error.HTTPError as error:
            raise ValueError(f"{words.get('query', path)}: {error.read().decode()}") from error


def run_at(address: str) -> str | None:
    """The name of the run whose metrics are served there; None where none is."""
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=LOOK_S) as served:
            found = RUN.search(served.read().decode())
    except (OSError, ValueError):
        return None
    return unescaped(found.group(1)) if found else None


def unescaped(value: str) -> str:
    """A label's value, as it was before it was written into the exposition."""
    return re.sub(r"\\(.)", lambda each: "\n" if each[1] == "n" else each[1], value)


def observe(address: str, interval: str) -> None:
    """Watch whichever run is served there, until a signal comes."""
    folder = Path(tempfile.mkdtemp(prefix="emufarm-prometheus-"))
    try:
        with Prometheus(folder, interval) as prometheus:
            print(f"Prometheus    {prometheus.url}", flush=True)
            print(f"the run       http://{address}/metrics", flush=True)
            print("Ctrl-C ends it and removes its data.", flush=True)
            known: str | None = None
            while True:
                run = run_at(address)
                # One that does not answer stays a target: that it is away is seen in `up`.
                if run is not None and run != known:
                    prometheus.scrape({run: address})
                    print(f"watching the run {run}", flush=True)
                    known = run
                time.sleep(LOOK_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Watch a local run with a real Prometheus.")
    parser.add_argument("--port", type=int, default=9464, help="the run's --metrics-port")
    parser.add_argument("--interval", default="1s", help="between two scrapes")
    words = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        observe(f"127.0.0.1:{words.port}", words.interval)
    except KeyboardInterrupt:
        return
    except NoPrometheus as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
