"""A commit is verified, durable and recorded once; a late one is kept and never scored."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.client import (
    CoordinatorAway,
    CoordinatorClient,
    CoordinatorRefused,
    LeaseLost,
)
from orchestrator.coordinator.ledger import CoordinatorStopped
from orchestrator.coordinator.messages import (
    DeviceLoss,
    DeviceRetired,
    Lease,
    NothingToLease,
    RunFinished,
)
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptFenced,
    AttemptLost,
    EpisodeDecided,
    Event,
    LeaseGranted,
    LeaseReturned,
)
from orchestrator.errors import UsageError
from orchestrator.evidence import manifest
from orchestrator.outcome import Cause, OracleResults
from orchestrator.report.verify.journal import replay
from orchestrator.settings import Limits, RunSettings
from tests.coordinator.conftest import SECRETS, Served, aside
from tests.coordinator.runs import INFRA, SETTINGS, SUCCESS, a_bundle, a_plan, judged


def journal(run: Path) -> list[Event]:
    return [line.event for line in chain.read(run / "journal").lines]


async def a_lease(client: CoordinatorClient) -> Lease:
    answer = await aside(client.lease, 0)
    assert isinstance(answer, Lease), answer
    return answer


async def test_a_commit_is_durable_and_scored(served: Served, tmp_path: Path) -> None:
    with served.client("a") as client:
        lease = await a_lease(client)
        results = OracleResults(True, held_before=False, violations=("sent_sms",), text="done")
        bundle = a_bundle(tmp_path / "b", lease, "a", **judged(results))
        assert await aside(client.commit, lease.token, bundle) == "committed"
    stored = served.run / "episodes" / lease.episode / "attempt-1-c1"
    assert manifest.verify(stored) == []
    (event,) = [event for event in journal(served.run) if isinstance(event, AttemptCommitted)]
    assert served.run / event.bundle == stored
    assert event.manifest == manifest.digest(bundle)
    assert (event.device, event.judgement.violations) == ("a", ("sent_sms",))
    (decided,) = [event for event in journal(served.run) if isinstance(event, EpisodeDecided)]
    assert (decided.judgement.outcome, decided.bundle) == ("success", event.bundle)
    assert served.coordinator.state.progress[lease.episode].decided == "success"
    assert not bundle.with_name("b.tar.zst").exists()


async def test_a_judgement_that_its_facts_do_not_give_is_no_score(
    served: Served, tmp_path: Path
) -> None:
    """The bundle is kept, the episode is tried again, and the journal says what disagrees."""
    failed = judged(OracleResults(False, held_before=False, violations=("sent_sms",)))
    with served.client("a") as a, served.client("b") as b:
        lease = await a_lease(a)
        bundle = a_bundle(tmp_path / "1", lease, "a", **{**failed, **judgement_of(SUCCESS)})
        assert await aside(a.commit, lease.token, bundle) == "committed"
        retry = await a_lease(b)
        assert (retry.episode, retry.attempt) == (lease.episode, 2)
        await aside(b.commit, retry.token, a_bundle(tmp_path / "2", retry, "b", **failed))
    refused, kept = (each for each in journal(served.run) if isinstance(each, AttemptCommitted))
    assert (refused.judgement.outcome, refused.judgement.reason) == ("infra_failed", "misjudged")
    assert (refused.judgement.blame, refused.judgement.phase) == ("infra", "evidence")
    assert (refused.judgement.violations, refused.judgement.violations_known) == (
        ("sent_sms",), False,
    )  # fmt: skip
    assert refused.judgement.text == (
        "its worker judged success, and the facts that it recorded give task_failed: "
        "outcome, blame, phase, reason, violations differ"
    )
    assert manifest.verify(served.run / refused.bundle) == []
    assert served.coordinator.state.progress[lease.episode].decided == "task_failed"
    assert kept.judgement.reason == "wrong_end"


def judgement_of(told: dict[str, Any]) -> dict[str, Any]:
    return {"judgement": told["judgement"]}


async def test_sent_again_it_is_the_same_commit(served: Served, tmp_path: Path) -> None:
    with served.client("a") as client:
        lease = await a_lease(client)
        bundle = a_bundle(tmp_path / "b", lease, "a")
        twice = await asyncio.gather(
            aside(client.commit, lease.token, bundle), again(served, lease, tmp_path / "c")
        )
        assert await aside(client.commit, lease.token, bundle) == "committed"
    assert set(twice) == {"committed"}
    assert sum(isinstance(event, AttemptCommitted) for event in journal(served.run)) == 1


async def again(served: Served, lease: Lease, folder: Path) -> str:
    with served.client("a") as client:
        return await aside(client.commit, lease.token, a_bundle(folder, lease, "a"))


async def test_a_late_bundle_is_kept_and_not_scored(served: Served, tmp_path: Path) -> None:
    with served.client("a") as late:
        lease = await a_lease(late)
        retried = await a_lease(late)  # asked anew: the first is lost
        assert (retried.episode, retried.attempt) == (lease.episode, 2)
        bundle = a_bundle(tmp_path / "b", lease, "a")
        assert await aside(late.commit, lease.token, bundle) == "fenced"
        assert await aside(late.commit, lease.token, bundle) == "fenced"
        with pytest.raises(LeaseLost):
            await aside(late.renew, lease.token)
        another = a_bundle(tmp_path / "c", lease, "a", text="another story")
        with pytest.raises(LeaseLost):
            await aside(late.commit, lease.token, another)
    (event,) = [event for event in journal(served.run) if isinstance(event, AttemptFenced)]
    assert event.bundle.startswith(f"episodes/{lease.episode}/fenced-")
    assert manifest.verify(served.run / event.bundle) == []
    assert served.coordinator.state.progress[lease.episode].decided is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"attempt": 2}, "the lease is for case_0.benign.0, attempt 1 on a"),
        ({"device": "b"}, "attempt 1 on b; the lease is for"),
        (
            {"judgement": {**SUCCESS["judgement"], "outcome": "fine"}},
            "judgement.outcome Input should be",
        ),
        ({"score": 1}, "score Extra inputs"),
        ({"ended_ms": 0}, "ended_ms is before started_ms"),
        ({"durations": {"agent": float("nan")}}, "durations.agent Input should be a finite"),
    ],
)
async def test_a_bundle_must_be_this_leases(
    served: Served, tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    """The lease stays open: the worker may still send the right one."""
    with served.client("a") as client:
        lease = await a_lease(client)
        bundle = a_bundle(tmp_path / "b", lease, **{"device": "a", **fields})
        with pytest.raises(CoordinatorRefused, match=words):
            await aside(client.commit, lease.token, bundle)
        assert await aside(client.renew, lease.token) == 30.0
        right = a_bundle(tmp_path / "c", lease, "a")
        assert await aside(client.commit, lease.token, right) == "committed"


async def test_a_broken_bundle_is_refused(served: Served, tmp_path: Path) -> None:
    with served.client("a") as client:
        lease = await a_lease(client)
        bundle = a_bundle(tmp_path / "b", lease, "a")
        (bundle / "screenshots" / "1.png").write_bytes(b"another")
        with pytest.raises(CoordinatorRefused, match="does not match its manifest"):
            await aside(client.commit, lease.token, bundle)
    assert list((served.run / "episodes").rglob("*/*")) == []


async def test_two_workers_race_to_the_end_and_leave(served: Served, tmp_path: Path) -> None:
    def work(device: str) -> list[str]:
        done: list[str] = []
        with served.client(device) as client:
            client.device_started({"serial": device})
            while not isinstance(answer := client.lease(5), RunFinished):
                if isinstance(answer, NothingToLease):
                    continue
                assert isinstance(answer, Lease)
                folder = tmp_path / f"{device}-{len(done)}"
                client.commit(answer.token, a_bundle(folder, answer, device))
                done.append(answer.episode)
        return done

    done = await asyncio.gather(aside(work, "a"), aside(work, "b"))
    assert sorted(done[0] + done[1]) == [f"case_{number}.benign.0" for number in range(3)]
    assert served.coordinator.over.is_set()
    await served.coordinator.seal()
    assert chain.read(served.run / "journal").sealed


async def test_an_infra_failure_is_tried_elsewhere_and_both_bundles_stay(
    served: Served, tmp_path: Path
) -> None:
    with served.client("a") as a, served.client("b") as b:
        lease = await a_lease(a)
        await aside(a.commit, lease.token, a_bundle(tmp_path / "1", lease, "a", **INFRA))
        retry = await a_lease(b)
        await aside(b.commit, retry.token, a_bundle(tmp_path / "2", retry, "b"))
    assert (retry.episode, retry.attempt) == (lease.episode, 2)
    folder = served.run / "episodes" / lease.episode
    assert sorted(path.name for path in folder.iterdir()) == ["attempt-1-c1", "attempt-2-c1"]


async def test_a_device_in_quarantine_retires(served: Served, tmp_path: Path) -> None:
    with served.client("a") as client:
        for number in range(9):
            answer = await aside(client.lease, 0)
            if not isinstance(answer, Lease):
                break
            bundle = a_bundle(tmp_path / str(number), answer, "a", **INFRA)
            await aside(client.commit, answer.token, bundle)
        else:
            pytest.fail("no quarantine")
    assert isinstance(answer, DeviceRetired)
    assert served.coordinator.stuck
    assert not served.coordinator.over.is_set()


async def test_a_given_back_lease_is_given_again(served: Served) -> None:
    with served.client("a") as client:
        first = await a_lease(client)
        await aside(client.give_back, first.token, "SIGTERM")
        await aside(client.give_back, first.token, "SIGTERM")
        second = await a_lease(client)
    assert (second.episode, second.attempt) == (first.episode, 1)


@pytest.mark.parametrize(
    ("cause", "outcome", "reason", "attempts"),
    [
        (Cause.KILLED, "oracle_inconclusive", "unconfirmed_loss", 1),
        (Cause.EXITED, "oracle_inconclusive", "unconfirmed_loss", 1),
        (Cause.UNKNOWN, "oracle_inconclusive", "unconfirmed_loss", 1),
        (Cause.OUT_OF_MEMORY, "infra_failed", "worker_lost", 2),
        (Cause.NODE_LOST, "infra_failed", "worker_lost", 2),
    ],
)
async def test_a_worker_lost_under_an_unconfined_agent_earns_a_retry_by_a_confirmed_cause_alone(
    served: Served, cause: Cause, outcome: str, reason: str, attempts: int
) -> None:
    with served.client("a") as client:
        lease = await a_lease(client)
        await aside(client.unconfined, lease.token)
        await aside(client.unconfined, lease.token)
        loss = DeviceLoss(device="a", lost="worker", cause=cause, exit_code=137, text="gone")
        await served.coordinator.device_lost(loss)
        await aside(client.lease, 0)
    lost = [event for event in journal(served.run) if isinstance(event, AttemptLost)]
    assert [(e.judgement.outcome, e.judgement.reason) for e in lost] == [(outcome, reason)]
    granted = [e.attempt for e in journal(served.run) if isinstance(e, LeaseGranted)]
    decided = [e for e in journal(served.run) if isinstance(e, EpisodeDecided)]
    assert (len(decided), granted[-1]) == ((1, 1) if attempts == 1 else (0, 2))
    assert replay(a_plan(3), chain.read(served.run / "journal").lines) == []


async def test_a_lease_given_back_unasked_under_an_unconfined_agent_is_a_lost_attempt(
    served: Served,
) -> None:
    """The agent may have sent its worker the signal; once the run's fleet ends, it is asked to."""
    with served.client("a") as client, served.client("b") as other:
        lease, ordinary = await a_lease(client), await a_lease(other)
        await aside(client.unconfined, lease.token)
        served.coordinator.working.set()
        await aside(client.give_back, lease.token, "SIGTERM")
        await aside(other.give_back, ordinary.token, "SIGTERM")
        last = await a_lease(client)
        await aside(client.unconfined, last.token)
        served.coordinator.working.clear()
        await aside(client.give_back, last.token, "SIGTERM")
    events = journal(served.run)
    (lost,) = [event for event in events if isinstance(event, AttemptLost)]
    assert (lost.token, lost.judgement.reason) == (lease.token, "unconfirmed_loss")
    returned = [event.token for event in events if isinstance(event, LeaseReturned)]
    assert returned == [ordinary.token, last.token]


async def test_a_lease_runs_out_by_itself(tmp_path: Path) -> None:
    settings = type(SETTINGS)(limits=type(SETTINGS.limits)(lease_s=0.2))
    async with (
        open_run(tmp_path / "run", a_plan(1), settings) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        served = Served(coordinator, url, tmp_path / "run")
        ended = asyncio.Event()

        def listen(event: Event) -> None:
            if isinstance(event, AttemptLost):
                ended.set()

        coordinator.subscribe(listen)
        with served.client("a") as client:
            lease = await a_lease(client)
            async with asyncio.timeout(60):
                await ended.wait()
            with pytest.raises(LeaseLost):
                await aside(client.renew, lease.token)


async def test_a_full_disk_stops_the_granting_and_says_so(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with served.client("a") as client:
        lease = await a_lease(client)
        bundle = a_bundle(tmp_path / "b", lease, "a")
        monkeypatch.setattr("orchestrator.evidence.archive._sync", full)
        with pytest.raises(CoordinatorAway, match="No space left on device"):
            await aside(client.commit, lease.token, bundle)
        with pytest.raises(CoordinatorAway, match="make room there, then resume"):
            await aside(client.lease, 0)
    assert served.coordinator.over.is_set()
    assert served.coordinator.stopped is not None
    monkeypatch.undo()


@pytest.mark.parametrize(
    "failing", ["evidence.archive._sync", "coordinator.bundle_store.sync_folder"]
)
async def test_a_bundle_that_a_volume_did_not_take_at_once_is_sent_again(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """A network volume is away for a moment: before the bundle has its place, and after."""
    failures = 0

    def away(*_: object) -> None:
        nonlocal failures
        monkeypatch.undo()
        failures += 1
        raise OSError(errno.ESTALE, "Stale file handle")

    with served.client("a") as client:
        lease = await a_lease(client)
    bundle = a_bundle(tmp_path / "b", lease, "a")
    with served.client("a", away_s=60.0) as client:
        monkeypatch.setattr(f"orchestrator.{failing}", away)
        assert await aside(client.commit, lease.token, bundle) == "committed"
    assert failures == 1
    assert served.coordinator.stopped is None


async def test_a_run_has_one_coordinator_and_one_plan(served: Served) -> None:
    with pytest.raises(UsageError, match="another coordinator"):
        async with open_run(served.run, a_plan(3), SETTINGS):
            pass


async def test_another_plan_is_refused_on_resume(tmp_path: Path) -> None:
    async with open_run(tmp_path / "run", a_plan(3), SETTINGS):
        pass
    with pytest.raises(UsageError, match="was started with another plan"):
        async with open_run(tmp_path / "run", a_plan(2), SETTINGS):
            pass


async def test_an_unwritable_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        async with open_run(tmp_path / "file" / "run", a_plan(1), SETTINGS):
            pass


async def test_a_taken_port_is_said(served: Served) -> None:
    port = int(served.url.rsplit(":", 1)[1])
    with pytest.raises(UsageError, match="cannot be listened on"):
        async with listening(served.coordinator, SECRETS, port=port):
            pass


async def test_a_coordinator_that_is_away_is_said_to_be() -> None:
    with (
        CoordinatorClient("http://127.0.0.1:9", "s", worker="w", away_s=0.0) as client,
        pytest.raises(CoordinatorAway, match="does not answer"),
    ):
        client.lease(0)


@pytest.mark.parametrize("away_s", [0.0, 2.0])
async def test_how_long_a_worker_waits_for_its_coordinator_comes_with_its_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, away_s: float
) -> None:
    """Before its first lease it has a time of its own."""
    tries: list[str] = []
    settings = RunSettings(limits=Limits(away_s=away_s))
    async with (
        open_run(tmp_path / "run", a_plan(1), settings) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        secret = SECRETS.workers.secret("a")
        with CoordinatorClient(url, secret, worker="w", away_s=600.0) as client:
            lease = await a_lease(client)
            coordinator._ledger.stop(CoordinatorStopped("the disk is full"))
            post = client._http.post

            def counted(path: str, **words: Any) -> httpx.Response:
                tries.append(path)
                return post(path, **words)

            monkeypatch.setattr(client._http, "post", counted)
            with pytest.raises(CoordinatorAway, match="the disk is full"):
                await aside(client.give_back, lease.token, "SIGTERM")
    assert (len(tries) == 1) == (away_s == 0.0)
