"""Real local runs under a real Prometheus: with trouble, with a bad agent, and killed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.coordinator.messages import slot_of
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    Event,
)
from tests.e2e.prometheus import Prometheus
from tests.e2e.strikes import acting_device, fail_a_start, open_leases, worker_of
from tests.ports import even_port
from tests.run.conftest import PATIENCE_S, ROOT, Farm, a_farm, ended
from tests.run.processes import emulator_of
from tests.run.test_road import wait_for

PUBLIC, DEVICES = "cases/public", "8"
SOUND, FAULTY = "sim-api34", "sim-no-calendars"
TROUBLED, KILLED = "troubled", "killed"
HOSTILE = 'night "1" {run="\\other"} 1'  # a run's name may be any text of one line
# Fails both cases: it crashes in one and says at once that it has done the other.
BAD_AGENT = "action = {'action': 'done'}\nif 'quiet' in said['goal']: sys.exit(7)"
BAD_AGENTS_CASES = "settings_quiet_evening or settings_rename_phone"


@dataclass(frozen=True)
class Watched:
    """A run that has ended, and when Prometheus watched it."""

    name: str
    began: float  # Unix time
    ended: float
    code: int
    output: str
    events: list[Event]
    report: dict[str, Any]

    @property
    def attempts(self) -> list[AttemptCommitted | AttemptLost]:
        return [each for each in self.events if isinstance(each, AttemptCommitted | AttemptLost)]

    @property
    def outcomes(self) -> Counter[str]:
        return Counter(each.judgement.outcome.value for each in self.attempts)


@dataclass(frozen=True)
class Watch:
    """Starts runs where its Prometheus looks for them."""

    farm: Farm
    prometheus: Prometheus

    def start(self, name: str, *words: str) -> tuple[subprocess.Popen[str], str]:
        """Its process and its port, of which Prometheus is told by `find`."""
        port = str(even_port())
        process = self.farm.start(
            "run", *words, "--runs", str(self.farm.runs), "--run", name, "--backend", "local",
            "--devices", DEVICES, "--metrics-port", port,
        )  # fmt: skip
        return process, port

    def find(self, name: str, port: str) -> None:
        self.prometheus.scrape({name: f"127.0.0.1:{port}"})

    def end(self, name: str, process: subprocess.Popen[str], began: float) -> Watched:
        code, output = ended(process)
        return Watched(
            name, began, time.time(), code, output, self.farm.events(name), self.farm.report(name)
        )

    def attempts(self, name: str) -> float:
        """That ended, as Prometheus knows it."""
        found = self.prometheus.query(f'sum(emufarm_attempts_total{{instance="{name}"}})')
        return float(found[0]["value"][1]) if found else 0.0


def a_watched_farm(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Farm:
    """With a second image, whose phones lack calendars: no episode that needs one can begin."""
    farm = a_farm(folder, tmp_path_factory)
    images = folder / "images"
    shutil.copytree(ROOT / "images", images)
    profile = yaml.safe_load((images / SOUND / "profile.yaml").read_text())
    profile |= {"name": FAULTY}
    profile["emulator"] += ["-sim-fault", "calendars-missing"]
    (images / FAULTY).mkdir()
    (images / FAULTY / "profile.yaml").write_text(yaml.safe_dump(profile))
    return replace(farm, env={**farm.env, "EMUFARM_IMAGES": str(images)})


def troubled(watch: Watch) -> Watched:
    """One attempt in five is lost to the phones' fault; besides an emulator crashes, a worker is
    killed, and a device does not start. Its agent does what injected texts ask of it."""
    began = time.time()
    process, port = watch.start(
        TROUBLED, PUBLIC, "--profile", FAULTY, "--repeats", "2", "--agent", "gullible"
    )
    watch.find(TROUBLED, port)
    try:
        wait_for(lambda: watch.attempts(TROUBLED) >= 10, process)
        # Known before: an agent that acts is soon done, and a search takes a while.
        devices = {lease.device for lease in open_leases(watch.farm, TROUBLED)}
        emulators = {device: emulator_of(process.pid, device) for device in devices}
        workers = {device: worker_of(process.pid, device) for device in devices}
        first = acting_device(watch.farm, TROUBLED, devices, process)
        os.kill(emulators[first], signal.SIGSEGV)
        second = acting_device(watch.farm, TROUBLED, devices - {first}, process)
        os.kill(workers[second], signal.SIGKILL)
        fail_a_start(watch.farm, TROUBLED, slot_of(second), process)
    except BaseException:
        stop(process)
        raise
    return watch.end(TROUBLED, process, began)


def quiet(watch: Watch, agent: Callable[[str], str]) -> Watched:
    """An agent fails every episode and crashes in half of them; its run has a hostile name."""
    began = time.time()
    process, port = watch.start(
        HOSTILE, PUBLIC, "-k", BAD_AGENTS_CASES, "--repeats", "26", "--agent", agent(BAD_AGENT)
    )
    watch.find(HOSTILE, port)
    return watch.end(HOSTILE, process, began)


@dataclass(frozen=True)
class Interrupted:
    watched: Watched
    before: float  # attempts that Prometheus had seen when it was killed
    refused: tuple[int, str]  # another run on its port: exit code and output


def killed(watch: Watch, agent: Callable[[str], str]) -> Interrupted:
    """It is found by Prometheus as on a cluster, after its first attempts have ended. Its
    coordinator is killed in the middle, and resumed on the same port."""
    began, farm = time.time(), watch.farm
    process, port = watch.start(
        KILLED, PUBLIC, "-k", BAD_AGENTS_CASES, "--repeats", "20", "--agent", agent(BAD_AGENT)
    )
    try:
        wait_for(lambda: attempts_at(port) > 0, process)
        watch.find(KILLED, port)
        wait_for(lambda: watch.attempts(KILLED) > 0, process)
        refused = farm.run(PUBLIC, "--metrics-port", port, "--backend", "local", name="second")
        wait_for(lambda: watch.attempts(KILLED) >= 8, process)
        before = watch.attempts(KILLED)
    finally:
        stop(process)
    deadline = time.monotonic() + PATIENCE_S
    while watch.prometheus.up()[KILLED]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process = farm.start(
        "resume", str(farm.runs / KILLED), "--devices", DEVICES, "--metrics-port", port
    )
    return Interrupted(watch.end(KILLED, process, began), before, refused)


def attempts_at(port: str) -> float:
    """That ended, as is served there; none while nothing is."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as served:
            text = served.read().decode()
    except OSError:
        return 0.0
    return sum(map(float, re.findall(r"^emufarm_attempts_total\{.*\} (\S+)$", text, re.MULTILINE)))


def stop(process: subprocess.Popen[str]) -> None:
    """As `kill -9` does; its devices and workers end with it."""
    process.kill()
    process.communicate(timeout=PATIENCE_S)
