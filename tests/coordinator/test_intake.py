"""A coordinator with an empty volume takes a run's documents, the plan last, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from orchestrator.coordinator import intake as intake_module
from orchestrator.coordinator.follow import AdminClient, AdminRefused
from orchestrator.coordinator.intake import Intake, taking
from orchestrator.plan.store import FILE as PLAN
from tests.coordinator.conftest import SECRETS

NAMES = ("run_manifest.json", PLAN)


@pytest_asyncio.fixture
async def asked(tmp_path: Path) -> AsyncIterator[tuple[Intake, str]]:
    intake = Intake(tmp_path / "a-run", NAMES)
    async with taking(intake, SECRETS) as url:
        yield intake, url


async def send(url: str, name: str, content: bytes = b"{}", secret: str = SECRETS.admin) -> None:
    with AdminClient.at(url, secret, 0.0) as client:
        await asyncio.to_thread(client.send, name, content)


async def test_documents_are_taken_and_the_plan_ends_the_intake(asked: tuple[Intake, str]) -> None:
    intake, url = asked
    with AdminClient.at(url, SECRETS.admin, 0.0) as client:
        state = await asyncio.to_thread(client.intake)
    assert state == {"checked": False, "trouble": ""}
    await send(url, NAMES[0], b"one")
    await send(url, NAMES[0], b"another")  # a repeated request
    assert not intake.whole.is_set()
    await send(url, PLAN)
    assert intake.whole.is_set()
    assert (intake.folder / NAMES[0]).read_bytes() == b"another"
    assert Intake(intake.folder, NAMES).whole.is_set()


async def test_a_plan_that_comes_first_is_refused(asked: tuple[Intake, str]) -> None:
    intake, url = asked
    with pytest.raises(AdminRefused, match="the plan is sent last"):
        await send(url, PLAN)
    assert not intake.whole.is_set()


@pytest.mark.parametrize("name", ["report.json", "..%2Fplan.json", "journal%2F000001.jsonl"])
async def test_other_files_are_refused(asked: tuple[Intake, str], name: str) -> None:
    with pytest.raises(AdminRefused) as refused:
        await send(asked[1], name)
    assert refused.value.status == 404
    assert not asked[0].folder.exists()


async def test_a_worker_may_send_nothing(asked: tuple[Intake, str]) -> None:
    with pytest.raises(AdminRefused) as refused:
        await send(asked[1], NAMES[0], secret=SECRETS.workers.secret("slot-00.1"))
    assert refused.value.status == 401


async def test_a_document_that_is_too_long_is_refused(
    asked: tuple[Intake, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "LIMIT", 10)
    with pytest.raises(AdminRefused) as refused:
        await send(asked[1], NAMES[0], b"x" * 11)
    assert refused.value.status == 413
    assert not (asked[0].folder / NAMES[0]).exists()
