"""A lease says whether its case is proven on this image; blame for an odd phone depends on it."""

from __future__ import annotations

from pathlib import Path

from orchestrator.coordinator.client import CoordinatorClient
from orchestrator.coordinator.messages import Lease
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.files import write_json
from tests.coordinator.conftest import SECRETS, aside
from tests.coordinator.runs import SETTINGS, a_plan


async def test_a_lease_says_what_the_run_began_with(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "r"
    run.mkdir(parents=True)
    known = {"case_0": True, "case_1": False}
    write_json(run / "run_manifest.json", {"reproducibility": {"proven": known}})
    told = {}
    async with (
        open_run(run, a_plan(3), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        for device in "abc":
            with CoordinatorClient(url, SECRETS.workers.secret(device), worker="w") as client:
                lease = await aside(client.lease, 0)
                assert isinstance(lease, Lease)
                told[lease.case["id"]] = lease.proven
    assert told == {**known, "case_2": None}
