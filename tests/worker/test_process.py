"""The worker as a process of its own, beside a real coordinator."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from orchestrator.coordinator import chain
from orchestrator.coordinator.transitions import DeviceFailed
from orchestrator.image.golden_cache import GoldenImage
from orchestrator.pins.image_lock import FILE as LOCK
from orchestrator.worker.arguments import WorkerArguments, WorkerExit
from tests.coordinator.conftest import SECRETS, Served
from tests.ports import even_port


async def test_a_device_that_does_not_answer_has_the_time_that_its_worker_was_given(
    served: Served, image: GoldenImage, tmp_path: Path
) -> None:
    (tmp_path / "worker").write_text(SECRETS.workers.secret("slot-00.1"))
    (tmp_path / "control").write_text("x" * 24)
    arguments = WorkerArguments(
        coordinator=served.url,
        token_file=tmp_path / "worker",
        device="slot-00.1",
        control_port=even_port(),
        control_token_file=tmp_path / "control",
        staging=tmp_path / "staging",
        lock=image.golden.home.parent / LOCK,
        profile="sim-api34",
        boot_s=0.25,
    )
    command = [sys.executable, "-m", "orchestrator.cli", *arguments.words()]
    worker = await asyncio.create_subprocess_exec(*command)
    async with asyncio.timeout(60):
        assert await worker.wait() == WorkerExit.DEVICE_UNUSABLE
    lines = chain.read(served.run / chain.FOLDER).lines
    (failed,) = [line.event for line in lines if isinstance(line.event, DeviceFailed)]
    assert (failed.phase, failed.reason) == ("provision", "supervisor")
    assert "0.25 s passed" in failed.text
