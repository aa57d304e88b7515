"""A run goes on over the evidence that it committed, or says what is missing of it."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.messages import Lease
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.coordinator.stored_evidence import EvidenceGone
from orchestrator.coordinator.transitions import Event, EvidenceMissing
from orchestrator.evidence import manifest
from orchestrator.report.verify.journal import replay
from tests.coordinator.conftest import SECRETS, Served, aside
from tests.coordinator.runs import SETTINGS, a_bundle, a_plan

PLAN = a_plan(3)
SCORED = "episodes/case_0.benign.0/attempt-1-c1"


@pytest.fixture
async def run(tmp_path: Path) -> Path:
    """One that ended early: an attempt was committed, and a late one was kept."""
    run = tmp_path / "runs" / "one"
    async with (
        open_run(run, PLAN, SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        served = Served(coordinator, url, run)
        with served.client("a") as client:
            first = await aside(client.lease, 0)
            again = await aside(client.lease, 0)  # asked anew: the first is lost
            assert isinstance(first, Lease)
            assert isinstance(again, Lease)
            late = a_bundle(tmp_path / "late", first, "a")
            assert await aside(client.commit, first.token, late) == "fenced"
        with served.client("b") as client:
            scored = await aside(client.lease, 0)
            assert isinstance(scored, Lease)
            bundle = a_bundle(tmp_path / "scored", scored, "b")
            assert await aside(client.commit, scored.token, bundle) == "committed"
    return run


def bundles(run: Path) -> list[Path]:
    return sorted(run.glob("episodes/*/*-c1"))


def other(bundle: Path) -> None:
    (bundle / "screenshots" / "1.png").write_bytes(b"of another attempt")
    manifest.seal(bundle)


DAMAGE: list[tuple[Callable[[Path], None], str]] = [
    (shutil.rmtree, "it is gone"),
    (lambda bundle: (bundle / manifest.NAME).unlink(), "MANIFEST.json is missing"),
    (other, "MANIFEST.json is not the one that was committed"),
]


@pytest.mark.parametrize("kind", ["attempt", "fenced"])
@pytest.mark.parametrize(("damage", "problem"), DAMAGE)
async def test_a_run_whose_evidence_is_not_what_was_committed_does_not_go_on(
    run: Path, damage: Callable[[Path], None], problem: str, kind: str
) -> None:
    """Each bundle is named with its episode and attempt, and nothing is written to the journal."""
    before = {path: path.read_bytes() for path in (run / "journal").iterdir()}
    (bundle,) = (each for each in bundles(run) if each.name.startswith(kind))
    damage(bundle)
    name = bundle.relative_to(run).as_posix()
    with pytest.raises(EvidenceGone) as refused:
        async with open_run(run, PLAN, SETTINGS):
            pass
    text = f"{bundle.parent.name}, attempt 1 ({name}): {problem}. Put it back, or go on without it"
    assert text in str(refused.value)
    assert {path: path.read_bytes() for path in (run / "journal").iterdir()} == before


async def test_told_to_go_on_the_journal_says_what_is_missing_and_nobody_is_asked_again(
    run: Path,
) -> None:
    for bundle in bundles(run):
        shutil.rmtree(bundle)
    async with open_run(run, PLAN, SETTINGS, without_evidence=True):
        assert sorted(each.bundle for each in noted(run)) == [
            bundle.relative_to(run).as_posix() for bundle in bundles_of(run)
        ]
    async with open_run(run, PLAN, SETTINGS):
        assert len(noted(run)) == 2
    assert replay(PLAN, chain.read(run / "journal").lines) == []


async def test_a_disk_that_does_not_answer_is_not_taken_for_missing_evidence(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another coordinator may get an answer, so nothing may be given up for that."""

    def away(folder: Path) -> str:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(manifest, "digest", away)
    with pytest.raises(EvidenceGone, match=r"cannot be read \(Input/output error\)") as refused:
        async with open_run(run, PLAN, SETTINGS, without_evidence=True):
            pass
    assert isinstance(refused.value.__cause__, OSError)


async def test_a_run_with_all_its_evidence_goes_on(run: Path) -> None:
    async with open_run(run, PLAN, SETTINGS) as coordinator:
        assert coordinator.state.undecided == 2
    assert noted(run) == []


def events(run: Path) -> list[Event]:
    return [line.event for line in chain.read(run / "journal").lines]


def noted(run: Path) -> list[EvidenceMissing]:
    return [event for event in events(run) if isinstance(event, EvidenceMissing)]


def bundles_of(run: Path) -> list[Path]:
    """Those that the journal names."""
    named = (getattr(event, "bundle", "") for event in events(run))
    return sorted({run / name for name in named if name})
