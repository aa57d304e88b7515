"""What the oracles of a run's deciding attempts read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from orchestrator.coordinator.client import CoordinatorClient
from orchestrator.coordinator.messages import Lease
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.report.endings import oracle_facts
from tests.coordinator.conftest import SECRETS, aside
from tests.coordinator.runs import INFRA, SETTINGS, a_bundle, a_plan

EPISODE = "case_0.benign.0"


def told(name: str, phase: str, digest: str) -> dict[str, Any]:
    return {
        "event": "oracle", "oracle_name": name, "phase": phase, "result_digest": digest,
        "facts": {"is": digest},
    }  # fmt: skip


def written(folder: Path, trace: Iterable[Any]) -> None:
    folder.mkdir()
    if trace:
        lines = "".join(json.dumps(line) + "\n" for line in trace)
        (folder / "oracle_trace.jsonl").write_text(lines)


def result_digests(run: Path) -> dict[str, dict[tuple[str, str], str]]:
    return {
        episode: {key: result.digest for key, result in found.items()}
        for episode, found in oracle_facts(run).items()
    }


async def play(url: str, device: str, folder: Path, trace: Iterable[Any], **fields: Any) -> None:
    """One attempt whose oracles said this."""
    with CoordinatorClient(url, SECRETS.workers.secret(device), worker="w") as client:
        lease = await aside(client.lease, 0)
        assert isinstance(lease, Lease)
        written(folder, trace)
        a_bundle(folder, lease, device, **fields)
        await aside(client.commit, lease.token, folder)


async def test_the_last_word_of_the_deciding_attempt_counts(tmp_path: Path) -> None:
    """Not what an attempt read that another one replaced, nor what was not settled yet."""
    run = tmp_path / "runs" / "r"
    async with (
        open_run(run, a_plan(1), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        voided = [told("sent", "pre", "voided")]
        await play(url, "one", tmp_path / "1", voided, **INFRA)
        asked = [told("sent", "pre", "a"), told("sent", "post", "b"), told("sent", "post", "c")]
        await play(url, "two", tmp_path / "2", asked)
    assert result_digests(run) == {EPISODE: {("sent", "pre"): "a", ("sent", "post"): "c"}}
    assert oracle_facts(run)[EPISODE]["sent", "post"].facts == {"is": "c"}


async def test_an_attempt_that_asked_nothing_has_no_results(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "r"
    async with (
        open_run(run, a_plan(1), SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        await play(url, "one", tmp_path / "1", [])
    assert result_digests(run) == {EPISODE: {}}
