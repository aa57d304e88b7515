"""The worker as a process of its own, beside a real coordinator, and beside none."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.transitions import DeviceFailed
from orchestrator.image.golden_cache import GoldenImage
from orchestrator.pins.image_lock import FILE as LOCK
from orchestrator.worker import process
from orchestrator.worker.arguments import WorkerArguments, WorkerExit
from tests.coordinator.conftest import SECRETS, Served
from tests.ports import even_port


@pytest.fixture
def arguments(image: GoldenImage, tmp_path: Path) -> WorkerArguments:
    """Of a worker whose device does not answer, and for which nobody gives leases."""
    (tmp_path / "worker").write_text(SECRETS.workers.secret("slot-00.1"))
    (tmp_path / "control").write_text("x" * 24)
    return WorkerArguments(
        coordinator=f"http://127.0.0.1:{even_port()}",
        token_file=tmp_path / "worker",
        device="slot-00.1",
        control_port=even_port(),
        control_token_file=tmp_path / "control",
        staging=tmp_path / "staging",
        lock=image.golden.home.parent / LOCK,
        profile="sim-api34",
        boot_s=0.25,
        away_s=60.0,
    )


async def ended(arguments: WorkerArguments) -> tuple[int, str]:
    command = [sys.executable, "-m", "orchestrator.cli", *arguments.words()]
    worker = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(60):
        output, _ = await worker.communicate()
    assert worker.returncode is not None
    return worker.returncode, output.decode()


async def test_a_device_that_does_not_answer_has_the_time_that_its_worker_was_given(
    served: Served, arguments: WorkerArguments
) -> None:
    code, output = await ended(replace(arguments, coordinator=served.url))
    assert code == WorkerExit.DEVICE_UNUSABLE, output
    lines = chain.read(served.run / chain.FOLDER).lines
    (failed,) = [line.event for line in lines if isinstance(line.event, DeviceFailed)]
    assert (failed.phase, failed.reason) == ("provision", "supervisor")
    assert "0.25 s passed" in failed.text


async def test_a_coordinator_that_is_absent_from_the_start_is_waited_for_as_long_as_the_run_says(
    arguments: WorkerArguments,
) -> None:
    code, output = await ended(replace(arguments, away_s=0.5))
    assert code not in (WorkerExit.ALL_DECIDED, WorkerExit.DEVICE_UNUSABLE), output
    assert "does not answer" in output


def test_no_other_process_of_its_user_reads_a_workers_memory_environment_or_files(
    arguments: WorkerArguments,
) -> None:
    """From before it has its secrets on. Root may, so that these are processes of another user."""
    spawn = get_context("spawn")
    ours, its = spawn.Pipe()
    worker = spawn.Process(target=held_at_its_secret, args=(its, arguments), daemon=True)
    worker.start()
    assert ours.recv() == "before"
    assert refused_by(worker.pid) == []
    ours.send("go on")
    assert ours.recv() == "asked for its secret"
    assert refused_by(worker.pid) == ["environ", "mem", "fd", "cwd"]
    worker.kill()
    worker.join()


def held_at_its_secret(to_test: Connection, arguments: WorkerArguments) -> None:
    become_ordinary()
    to_test.send("before")
    to_test.recv()

    def asked(path: Path) -> str:
        to_test.send("asked for its secret")
        to_test.recv()
        return ""

    setattr(process, "read_secret", asked)  # noqa: B010 - it is imported there, not exported
    process.run_worker(arguments, print)


def become_ordinary() -> None:
    """Another user than root, with a memory that others may read as at every program's start."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE


def refused_by(pid: int | None) -> list[str]:
    """What of the process another one of its user cannot open."""
    spawn = get_context("spawn")
    ours, its = spawn.Pipe()
    reader = spawn.Process(target=_tell_refused, args=(its, pid), daemon=True)
    reader.start()
    told: list[str] = ours.recv()
    reader.join()
    return told


def _tell_refused(to_test: Connection, pid: int) -> None:
    become_ordinary()
    refused = []
    for name in ("environ", "mem", "fd", "cwd"):
        place = f"/proc/{pid}/{name}"
        try:
            match name:
                case "fd":
                    os.listdir(place)
                case "cwd":
                    os.readlink(place)
                case _:
                    os.close(os.open(place, os.O_RDONLY))
        except PermissionError:
            refused.append(name)
    to_test.send(refused)
