"""A worker's command line and its arguments are equivalent."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli import commands
from orchestrator.cli import worker as command
from orchestrator.worker.arguments import WorkerArguments, WorkerExit


@pytest.mark.parametrize("tied", [False, True])
def test_what_a_fleet_spells_the_command_line_reads_back(
    tied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = WorkerArguments(
        coordinator="http://127.0.0.1:8000",
        token_file=Path("/run/worker.token"),
        device="slot-00.1",
        control_port=5600,
        control_token_file=Path("/run/control.token"),
        staging=Path("/staging/slot-00"),
        lock=Path("/run/image.lock.json"),
        profile="sim-api34",
        boot_s=120.0,
        away_s=900.0,
        tied=tied,
    )
    read: list[WorkerArguments] = []

    def run_worker(arguments: WorkerArguments, notify: object) -> WorkerExit:
        read.append(arguments)
        return WorkerExit.DEVICE_UNUSABLE

    monkeypatch.setattr(command, "run_worker", run_worker)
    result = CliRunner().invoke(commands(), given.words())
    assert (result.exit_code, read) == (3, [given])
