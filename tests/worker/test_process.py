"""The worker as a process of its own, beside a real coordinator, and beside none."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.transitions import DeviceFailed
from orchestrator.image.golden_cache import GoldenImage
from orchestrator.pins.image_lock import FILE as LOCK
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
