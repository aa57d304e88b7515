"""A worker with a real simulated phone and a real coordinator."""

from __future__ import annotations

import asyncio
import errno
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.client import CoordinatorAway, CoordinatorClient
from orchestrator.coordinator.coordinator import Coordinator
from orchestrator.coordinator.messages import DeviceLoss, Lease
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptFenced,
    DeviceFailed,
    DeviceStarted,
    Event,
    LeaseGranted,
    LeaseReturned,
)
from orchestrator.device.phone import Device
from orchestrator.device.readiness import Readiness
from orchestrator.evidence import manifest
from orchestrator.evidence.bundle import Bundle, EvidenceLost
from orchestrator.fleet.local.boot import boot
from orchestrator.fleet.local.device import LocalDevice
from orchestrator.image.golden_cache import GoldenImage
from orchestrator.plan.plan import Episode, Plan, PlannedCase
from orchestrator.settings import Limits, RunSettings
from orchestrator.worker import loop
from orchestrator.worker.arguments import WorkerExit
from orchestrator.worker.loop import Worker, renewing
from orchestrator.worker.staging import begin_attempt, send_sealed
from tests.coordinator.conftest import SECRETS
from tests.coordinator.runs import a_bundle
from tests.episode.stage import PROFILE, Says, a_case
from tests.supervisor.supervised import until as wait_until

DEVICE = "slot-00.1"
TAP = {"action": "tap", "x": 540, "y": 1200}
LIMITS = Limits(lease_s=60.0, attempts=1)


@dataclass
class Post:
    """A worker at its place, with a run of as many episodes as are wanted."""

    device: Device
    image: GoldenImage
    run: Path
    staging: Path
    coordinator: Coordinator
    client: CoordinatorClient
    stop: threading.Event
    loads: int = 40
    boot_s: float = LIMITS.boot_s

    def work(self) -> int:
        worker = Worker(
            client=self.client, device=self.device, name=DEVICE, lock=self.image.lock,
            profile=PROFILE.model_copy(update={"loads": self.loads}), boot_s=self.boot_s,
            staging=self.staging, stop=self.stop,
        )  # fmt: skip
        return worker.run()

    def events(self, kind: type[Event]) -> list[Any]:
        return [
            line.event
            for line in chain.read(self.run / chain.FOLDER).lines
            if isinstance(line.event, kind)
        ]

    def word(self) -> tuple[str, str]:
        (commit,) = self.events(AttemptCommitted)
        return str(commit.judgement.outcome), str(commit.judgement.reason)

    def bundle(self) -> Path:
        (commit,) = self.events(AttemptCommitted)
        folder: Path = self.run / commit.bundle
        assert manifest.verify(folder) == []
        return folder


def a_plan(episodes: int) -> Plan:
    names = [f"a_case.benign.{number}" for number in range(episodes)]
    return Plan(
        0, episodes, "test", PROFILE.name, "0" * 64,
        (PlannedCase("a_case", "0" * 64, a_case(), {}),),
        tuple(Episode(n, "a_case", "benign", i, 7, 10.0) for i, n in enumerate(names)),
    )  # fmt: skip


Posted = Callable[..., Any]


@pytest.fixture
def post(stages_phone: LocalDevice, image: GoldenImage, tmp_path: Path) -> Posted:
    @asynccontextmanager
    async def open_post(*, episodes: int = 1, limits: Limits = LIMITS) -> AsyncIterator[Post]:
        device, _ = await asyncio.to_thread(boot, stages_phone)
        run, staging = tmp_path / "runs" / "r", tmp_path / "staging"
        staging.mkdir()
        async with (
            open_run(run, a_plan(episodes), RunSettings(limits=limits)) as coordinator,
            listening(coordinator, SECRETS) as url,
        ):
            with CoordinatorClient(url, SECRETS.workers.secret(DEVICE), worker="w") as client:
                stop = threading.Event()
                yield Post(device, image, run, staging, coordinator, client, stop)

    return open_post


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Says]]:
    """Every attempt gets a new agent with these turns."""

    def give(*turns: Any) -> list[Says]:
        made: list[Says] = []

        def make(*_: object) -> Says:
            made.append(Says(*turns))
            return made[-1]

        monkeypatch.setattr(loop, "make_agent", make)
        return made

    return give


@pytest.fixture
def renewals(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], bool]]:
    """Every attempt's, and quick ones: the lease's own term is long, so none runs out by itself."""
    made: list[Callable[[], bool]] = []

    @contextmanager
    def quick(client: CoordinatorClient, token: str, term_s: float) -> Iterator[Callable[[], bool]]:
        with renewing(client, token, min(term_s, 0.1)) as leased:
            made.append(leased)
            yield leased

    monkeypatch.setattr(loop, "renewing", quick)
    return made


async def sealed(post: Post) -> int:
    """The worker's exit code; the run is sealed once all is decided, as the command line does."""
    work = asyncio.create_task(asyncio.to_thread(post.work))
    while not work.done():
        await asyncio.wait({work}, timeout=0.05)
        if post.coordinator.state.finished:
            await post.coordinator.seal()
    return work.result()


async def test_it_works_until_all_is_decided_and_leaves_nothing_behind(
    post: Posted, agents: Callable[..., list[Says]]
) -> None:
    """A phone gets a new emulator after so many loads, and not while a lease runs."""
    made = agents(TAP)
    async with post(episodes=3) as at:
        at.loads = 2
        assert await sealed(at) == WorkerExit.ALL_DECIDED
        assert len(made) == 3
        starts = at.events(DeviceStarted)
        assert len(starts) == 2
        assert all(0 < start.boot_s < LIMITS.boot_s for start in starts)
        commits = at.events(AttemptCommitted)
        assert [commit.age.loads for commit in commits] == [0, 1, 0]
        assert commits[0].age.seconds < commits[1].age.seconds > commits[2].age.seconds > 0
        for commit in commits:
            assert str(commit.judgement.outcome) == "task_failed"
            assert set(commit.durations) == {"reset", "setup", "agent", "oracle"}
        assert list(at.staging.iterdir()) == []


async def test_the_run_s_limits_are_the_worker_s(
    post: Posted, agents: Callable[..., list[Says]]
) -> None:
    """Here its phone may take no time at all for the agent's steps."""
    agents(TAP, TAP)
    async with post(limits=replace(LIMITS, device_s=1e-9)) as at:
        assert await sealed(at) == WorkerExit.ALL_DECIDED
        assert at.word() == ("oracle_inconclusive", "guest_lost")


async def test_a_phone_that_does_not_boot_in_the_time_it_has_is_unusable(
    post: Posted, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with post() as at:
        at.boot_s = 0.0
        booting = Readiness(("sys.boot_completed",), 0.0)
        monkeypatch.setattr(at.device, "wait_ready", lambda seconds: booting)
        assert await asyncio.to_thread(at.work) == WorkerExit.DEVICE_UNUSABLE
        (failed,) = at.events(DeviceFailed)
        assert (failed.phase, failed.reason, failed.cause) == ("boot", "not_ready", "start_timeout")


async def test_told_to_stop_while_the_phone_boots_it_leaves_and_accuses_nobody(
    post: Posted, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with post() as at:
        booting = Readiness(("sys.boot_completed",), 0.0)
        monkeypatch.setattr(at.device, "wait_ready", lambda seconds: at.stop.set() or booting)
        assert await asyncio.to_thread(at.work) == WorkerExit.STOPPED
        assert at.events(DeviceFailed) == []


async def test_told_to_stop_before_the_first_action_it_gives_its_lease_back(
    post: Posted, agents: Callable[..., list[Says]]
) -> None:
    async with post() as at:
        agents(lambda: at.stop.set() or {"action": "wait"})
        assert await asyncio.to_thread(at.work) == WorkerExit.STOPPED
        assert len(at.events(LeaseReturned)) == 1
        assert at.events(AttemptCommitted) == []
        assert list(at.staging.iterdir()) == []


async def test_told_to_stop_after_it_too_and_then_the_attempt_never_happened(
    post: Posted, agents: Callable[..., list[Says]]
) -> None:
    """However often: the run allows one attempt, and that one is still to be had."""
    async with post() as at:
        agents(lambda: at.stop.set() or TAP)
        for times in (1, 2, 3):
            assert await asyncio.to_thread(at.work) == WorkerExit.STOPPED
            assert len(at.events(LeaseReturned)) == times
            assert at.events(AttemptCommitted) == []
            assert list(at.staging.iterdir()) == []
            at.stop.clear()
        agents(TAP)
        assert await sealed(at) == WorkerExit.ALL_DECIDED
        assert at.word() == ("task_failed", "wrong_end")


async def test_told_to_stop_while_the_oracles_are_asked_it_commits(
    post: Posted, agents: Callable[..., list[Says]]
) -> None:
    async with post() as at:
        agents(TAP, lambda: at.stop.set() or {"action": "done"})
        assert await asyncio.to_thread(at.work) == WorkerExit.STOPPED
        assert at.word() == ("task_failed", "wrong_end")


async def test_a_lost_lease_ends_the_attempt_and_its_bundle_is_fenced(
    post: Posted, agents: Callable[..., list[Says]], renewals: list[Callable[[], bool]]
) -> None:
    async with post(episodes=2) as at:
        here = asyncio.get_running_loop()

        def begin_or_stop() -> Any:
            if len(made) > 1:
                at.stop.set()
                return {"action": "wait"}
            return TAP

        def lose() -> Any:
            fact = at.coordinator.device_lost(DeviceLoss(device=DEVICE, lost="worker"))
            asyncio.run_coroutine_threadsafe(fact, here).result(60)
            wait_until(lambda: not renewals[0](), "the renewal is refused")
            return TAP

        made = agents(begin_or_stop, lose, TAP)
        assert await asyncio.to_thread(at.work) == WorkerExit.STOPPED
        assert len(made[0].shown) == 2
        assert at.events(AttemptCommitted) == []
        (fenced,) = at.events(AttemptFenced)
        assert manifest.verify(at.run / fenced.bundle) == []


@pytest.mark.usefixtures("renewals")
async def test_a_coordinator_that_is_away_for_a_while_costs_nothing(
    post: Posted, agents: Callable[..., list[Says]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with post() as at:
        renew: Callable[[str], float] = at.client.renew
        calls: list[str] = []

        def away_first(token: str) -> float:
            calls.append(token)
            if len(calls) == 1:
                raise CoordinatorAway("restarting")
            return renew(token)

        monkeypatch.setattr(at.client, "renew", away_first)

        def thinking() -> Any:
            wait_until(lambda: len(calls) >= 2, "it is back")
            return TAP

        agents(thinking)
        assert await sealed(at) == WorkerExit.ALL_DECIDED
        assert len(calls) >= 2
        assert at.word() == ("task_failed", "wrong_end")


async def test_a_full_disk_costs_the_attempt_and_says_so(
    post: Posted, agents: Callable[..., list[Says]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(bundle: Bundle, png: bytes) -> tuple[str, str]:
        raise EvidenceLost(OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(Bundle, "screenshot", full)
    agents()
    async with post() as at:
        await sealed(at)
        assert at.word() == ("infra_failed", "disk_full")
        assert {path.name for path in at.bundle().iterdir()} == {"attempt.json", manifest.NAME}


async def test_a_bug_of_ours_costs_one_attempt_and_not_the_run(
    post: Posted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Says:
        raise RuntimeError("oops \ud800" + "x" * 100_000)

    monkeypatch.setattr(loop, "make_agent", broken)
    async with post() as at:
        assert await sealed(at) == WorkerExit.ALL_DECIDED
        assert at.word() == ("oracle_inconclusive", "other")
        told = json.loads((at.bundle() / "attempt.json").read_text())
        assert "oops ?" in told["judgement"]["text"]
        assert not (at.bundle() / "summary.json").exists()


async def test_what_a_killed_worker_had_sealed_is_sent_by_the_next(
    post: Posted, agents: Callable[..., list[Says]]
) -> None:
    """Whether it was killed before or after it put the bundle aside, or while it removed it."""
    made = agents()
    async with post(episodes=3) as at:
        for aside in (True, False):
            lease = await asyncio.to_thread(at.client.lease)
            assert isinstance(lease, Lease)
            a_bundle(begin_attempt(at.staging, lease.token), lease, DEVICE)
            if aside:
                (at.staging / "attempt").rename(at.staging / "sealed-1")
                await asyncio.to_thread(send_sealed, at.client, at.staging)
                (at.staging / "sent-1" / "bundle").mkdir(parents=True)
        assert await sealed(at) == WorkerExit.ALL_DECIDED
        assert len(at.events(AttemptCommitted)) == 3
        assert len(made) == 1
        assert list(at.staging.iterdir()) == []


async def test_a_device_that_is_not_the_locks_gets_no_lease(post: Posted) -> None:
    """Its start failed, and which pin it is stands in the journal."""
    async with post() as at:
        at.image = replace(at.image, lock=replace(at.image.lock, fingerprint="google/another"))
        assert await asyncio.to_thread(at.work) == WorkerExit.DEVICE_UNUSABLE
        (failed,) = at.events(DeviceFailed)
        assert (failed.phase, failed.reason, failed.cause) == ("boot", "pin_mismatch", "unusable")
        assert "baked was google/another" in failed.text
        assert at.events(DeviceStarted) == at.events(LeaseGranted) == []


async def test_a_device_that_turns_out_another_costs_one_attempt_and_is_left(
    post: Posted, agents: Callable[..., list[Says]]
) -> None:
    """The next attempt is for another device: this one will not become the right one."""
    made = agents()
    async with post(episodes=2) as at:
        config = Path(at.device.supervisor.facts().avd_path) / "config.ini"
        whole = config.read_text()

        def changed(event: Event) -> None:
            if isinstance(event, LeaseGranted):
                config.write_text(whole.replace("hw.keyboard=yes", "hw.keyboard=no"))

        at.coordinator.subscribe(changed)
        try:
            assert await asyncio.to_thread(at.work) == WorkerExit.DEVICE_UNUSABLE
        finally:
            config.write_text(whole)
        assert at.word() == ("infra_failed", "pin_mismatch")
        assert made[0].shown == []
        assert len(at.events(LeaseGranted)) == 1
