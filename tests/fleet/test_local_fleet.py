"""What is specific to pairs of processes: none of them outlives ours."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.coordinator.credentials import WorkerKey
from orchestrator.fleet.local import ports
from orchestrator.fleet.local.work_folder import work_folder
from orchestrator.image.golden_cache import GoldenImage
from orchestrator.outcome import Cause
from tests.fleet.contract import ended, until
from tests.fleet.local_trial import LocalTrial, processes_of
from tests.supervisor import supervised

ROOT = Path(__file__).parents[2]


@pytest.fixture
def trial(image: GoldenImage, tmp_path: Path) -> Iterator[LocalTrial]:
    trial = LocalTrial(tmp_path, image.golden)
    yield trial
    assert trial.left() == []


def free(port: int) -> bool:
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False


async def test_what_a_worker_started_ends_with_it(trial: LocalTrial) -> None:
    async with trial.fleet("brood 0") as fleet:
        await ended(fleet)
        await until(lambda: processes_of(trial.run) == {})


async def test_a_crashed_worker_is_followed_by_another_on_the_same_device(
    trial: LocalTrial,
) -> None:
    async with trial.fleet("exit 7; wait 0"):
        await until(lambda: trial.output("slot-00").count("slot-00.1 at work") == 2)


async def test_a_killed_supervisor_is_a_lost_device(trial: LocalTrial) -> None:
    async with trial.fleet("wait 0") as fleet:
        await trial.working("slot-00.1")
        os.kill(trial.process("slot-00", "orchestrator.supervisor"), signal.SIGKILL)
        fact = await trial.fact()
        assert (fact.kind, fact.cause, fact.exit_code) == ("device_lost", Cause.KILLED, 137)
        assert fleet.slots[0].device == "slot-00.1"  # reported before another takes its place


async def test_a_supervisor_that_does_not_answer_in_time_is_reported_so(
    trial: LocalTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an exit code: that it ended was our doing."""
    monkeypatch.setattr("orchestrator.fleet.local.device.START_S", 0.0)
    async with trial.fleet("wait 0", starts=1) as fleet:
        await ended(fleet)
    fact = await trial.fact()
    assert (fact.kind, fact.cause) == ("device_not_started", Cause.START_TIMEOUT)
    assert fact.exit_code is None


async def test_an_ended_fleet_holds_no_port(
    trial: LocalTrial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = random.randrange(6000, 9000, 2)  # no phone of another test takes them meanwhile
    monkeypatch.setattr(ports, "FIRST", first)
    monkeypatch.setattr(ports, "LAST", first + 96)
    monkeypatch.setattr(ports, "FOLDER", tmp_path / "ports")
    claims: list[ports.PortClaim] = []

    def claim(wanted: int | None) -> ports.PortClaim:
        claims.append(real(wanted))
        return claims[-1]

    real = ports.claim
    monkeypatch.setattr(ports, "claim", claim)
    async with trial.fleet("wait 0", devices=2):
        await trial.working("slot-00.1", "slot-01.1")
    assert len(claims) == 2
    for one in claims:
        taken = (one.port, one.port + 1, one.server_port)
        assert [port for port in taken if not free(port)] == []


async def test_a_deaf_worker_is_killed(trial: LocalTrial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.fleet.local.process.STOP_S", 0.2)
    async with trial.fleet("deaf"):
        await trial.working("slot-00.1")
    assert processes_of(trial.run) == {}


@contextmanager
def farm(image: GoldenImage, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A fleet of two in a process of its own, both workers at work; and its work folder."""
    golden = image.golden
    words = [str(golden.home), golden.avd, golden.snapshot, str(tmp_path), "2"]
    program = [sys.executable, "-m", "tests.fleet.local_trial"]
    errors = tmp_path / "farm.err"
    with (
        errors.open("wb") as output,
        subprocess.Popen(
            [*program, *words], stdout=subprocess.PIPE, stderr=output, cwd=ROOT
        ) as process,
    ):
        assert process.stdout is not None
        work = Path(process.stdout.readline().decode().strip())
        assert process.stdout.readline() == b"up\n", errors.read_text()
        yield process, work


def test_a_killed_fleet_takes_everything_along(image: GoldenImage, tmp_path: Path) -> None:
    """kill -9 of its process ends workers, supervisors, emulators and adb servers; the next run
    removes their copies."""
    with farm(image, tmp_path) as (process, work):
        assert len(processes_of(work)) >= 6  # of two: supervisor, adb server, emulator
        process.kill()
    supervised.until(lambda: not processes_of(tmp_path), "all of its processes are gone")
    assert work.exists()
    with work_folder(tmp_path):
        assert not work.exists()


def test_an_interrupted_fleet_gives_its_leases_back(image: GoldenImage, tmp_path: Path) -> None:
    """Ctrl-C: workers have their time, and nothing stays."""
    with farm(image, tmp_path) as (process, work):
        process.send_signal(signal.SIGINT)
    trial = LocalTrial(tmp_path, image.golden)
    assert [trial.output(slot).count("given back") for slot in ("slot-00", "slot-01")] == [1, 1]
    assert processes_of(tmp_path) == {}
    assert not work.exists()


async def test_the_secrets_of_a_worker_are_in_no_file_command_line_or_environment(
    trial: LocalTrial,
) -> None:
    """They come through pipes, which it empties: other programs of the same user would find the
    rest."""
    async with trial.fleet("wait 0"):
        await trial.working("slot-00.1")
        assert where_secrets_are(trial) == []


def where_secrets_are(trial: LocalTrial) -> list[str]:
    """Of the worker of the first device, and of its supervisor."""
    secret = WorkerKey("a key").secret("slot-00.1").encode()
    worker = Path(f"/proc/{trial.worker('slot-00')}")
    words = (worker / "cmdline").read_bytes()
    shown = [str(worker)] if secret in words + (worker / "environ").read_bytes() else []
    lines = [words.decode(), *processes_of(trial.work).values()]
    named = {word for line in lines for word in re.split("[ \0]", line)}
    kept = [word for word in named if word.endswith(".token") and Path(word).exists()]
    files = [path for path in trial.work.rglob("*") if path.is_file()]
    assert files, "the work folder was not looked at"
    return [*shown, *kept, *(str(path) for path in files if secret in path.read_bytes())]
