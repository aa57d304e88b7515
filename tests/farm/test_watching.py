"""Whoever follows a run on a cluster brings all of it, or says why not, and waits in bounds."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.chain import JournalBroken
from orchestrator.coordinator.finished_run import FinishedRun
from orchestrator.coordinator.server import reading
from orchestrator.coordinator.transitions import AttemptCommitted
from orchestrator.errors import EmufarmError, RunInterrupted, UsageError
from orchestrator.farm.cluster import coordinators, watching
from orchestrator.farm.cluster.reach import farm_namespace
from orchestrator.farm.cluster.watching import follow
from orchestrator.farm.pull import PulledBroken
from orchestrator.farm.run_events import Notice, RunEvent
from orchestrator.fleet.kubernetes.api import Json
from orchestrator.plan.store import write_plan
from orchestrator.report.verify.run_folder import scan
from tests.coordinator.conftest import SECRETS
from tests.coordinator.runs import a_plan
from tests.farm.fake_cluster import FakeCluster, use
from tests.farm.test_pull import EPISODES, files, sealed_run

PLAN = a_plan(EPISODES)
LONG_S = 30.0  # a follower that waits for ever is no hanging test


@pytest.fixture
async def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeCluster]:
    """With the run `one`, which is complete; nobody waits long for it."""
    monkeypatch.setattr(watching, "AWAY_S", 0.0)
    monkeypatch.setattr(watching, "LOOK_S", 0.05)
    monkeypatch.setattr(watching, "NOTICE_S", 0.0)
    found = FakeCluster()
    async with found.serving(tmp_path):
        use(found, monkeypatch)
        found.add_run(PLAN, phase="Complete", decided=EPISODES)
        (tmp_path / "runs" / "one").mkdir(parents=True)
        write_plan(tmp_path / "runs" / "one" / "plan.json", PLAN)
        yield found


@asynccontextmanager
async def served(cluster: FakeCluster, run: Path) -> AsyncIterator[FinishedRun]:
    finished = FinishedRun(run, PLAN)
    async with reading(finished, SECRETS) as url:
        cluster.coordinator = url
        yield finished


async def followed(
    tmp_path: Path, told: list[RunEvent] | None = None, asked: asyncio.Event | None = None
) -> Path:
    folder = tmp_path / "runs" / "one"
    events = told if told is not None else []
    async with asyncio.timeout(LONG_S), farm_namespace("", "other") as farm:
        run = farm.run("one", tmp_path / "runs")
        await follow(run, folder, events.append, asked or asyncio.Event())
    return folder


async def test_a_complete_run_comes_whole_and_is_said_to_be_pulled(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    run = await sealed_run(tmp_path)
    async with served(cluster, run) as finished:
        copy = await followed(tmp_path)
        assert finished.pulled.is_set()
    assert files(copy) == files(run)


async def test_a_bundle_that_the_volume_has_lost_ends_the_following_at_once(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    run = await sealed_run(tmp_path)
    shutil.rmtree(next(run.glob("episodes/*/attempt-*")))
    async with served(cluster, run) as finished:
        with pytest.raises(EmufarmError, match=r"the run has no bundle .* has what came before"):
            await followed(tmp_path)
        assert not finished.pulled.is_set()


@pytest.mark.parametrize("status", [500, 503, 404])
async def test_an_answer_that_brings_nothing_on_is_not_waited_for_without_end(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """The state is answered each time, and the bundles never are. Why is said before."""
    monkeypatch.setattr(watching, "GIVE_UP_S", 0.3)
    cluster.failing["v1/bundle"] = status
    at_work = {"name": "coordinator", "ready": True, "started": True, "state": {"running": {}}}
    cluster.coordinator_pod("emufarm-one-x", phase="Running", containerStatuses=[at_work])
    told: list[RunEvent] = []
    async with served(cluster, await sealed_run(tmp_path)):
        with pytest.raises(EmufarmError, match=r"the proxy fails.*; the cluster keeps the run"):
            await followed(tmp_path, told)
    assert any(isinstance(one, Notice) and "the proxy fails" in one.text for one in told)


async def test_a_journal_whose_chain_does_not_hold_is_never_said_to_be_pulled(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    run = await sealed_run(tmp_path)
    async with served(cluster, run) as finished:
        _forge(run / "journal" / "000001.jsonl")
        with pytest.raises(JournalBroken, match="does not follow the line before"):
            await followed(tmp_path)
        assert not finished.pulled.is_set()


def _forge(segment: Path) -> None:
    """One line that is a line by itself, and as long as before."""
    folder = segment.parent
    (line,) = [
        one for one in chain.read(folder).lines
        if isinstance(one.event, AttemptCommitted) and one.event.episode == "case_1.benign.0"
    ]  # fmt: skip
    lines = segment.read_bytes().splitlines(keepends=True)
    body, event = chain.parse_line(segment, line.seq, lines[line.seq - 1])
    assert isinstance(event, AttemptCommitted)
    forged = event.model_copy(update={"ended_ms": event.ended_ms + 1})
    lines[line.seq - 1] = chain.encode(line.seq, line.ts_ms, body["prev"], forged)
    segment.write_bytes(b"".join(lines))


async def test_a_bundle_that_changed_since_it_was_pulled_is_never_said_to_be_pulled(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    run = await sealed_run(tmp_path)
    async with served(cluster, run) as finished:
        copy = await followed(tmp_path)
        finished.pulled.clear()
        bundle = next(copy.glob("episodes/*/attempt-*"))
        (bundle / "attempt.json").write_text("{}")
        with pytest.raises(PulledBroken, match=r"remove the bundle's folder"):
            await followed(tmp_path)
        assert not finished.pulled.is_set()
        shutil.rmtree(bundle)
        await followed(tmp_path)
        assert finished.pulled.is_set()
    assert files(copy) == files(run)


async def test_what_a_killed_pull_left_is_removed_before_the_next(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    folder = tmp_path / "runs" / "one"
    part = folder / "episodes" / "case_0.benign.0" / f".attempt-1-c1.{'0' * 32}.part"
    part.mkdir(parents=True)
    (part / "attempt.json").write_text("{")
    (folder / "logs" / "deeper").mkdir(parents=True)
    left = [folder / ".report.json.123.new", folder / "logs" / "deeper" / ".b.log.7.new"]
    for path in left:
        path.write_text("half")
    own = folder / ".notes"
    own.write_text("mine")
    async with served(cluster, await sealed_run(tmp_path)):
        await followed(tmp_path)
    assert scan(folder).unexpected == []
    assert [path for path in (part, *left) if path.exists()] == []
    assert own.exists()


async def test_a_run_without_a_job_is_served_from_its_volume(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    """The cluster, or somebody, has removed the Job. The next coordinator keeps the time-out."""
    run = await sealed_run(tmp_path)
    del cluster.objects["jobs", "emufarm-one"]
    cluster.objects["farmruns", "one"]["metadata"]["annotations"] = {
        "emufarm.dev/pending-timeout": "1234"
    }
    async with served(cluster, run):
        url, cluster.coordinator = cluster.coordinator, ""

        def created(plural: str, made: Json) -> None:
            cluster.coordinator = url

        cluster.on_create = created
        copy = await followed(tmp_path)
    assert files(copy) == files(run)
    (job,) = cluster.jobs()
    words = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--serve-only" in words
    assert words[words.index("--pending-timeout") + 1] == "1234.0"


@pytest.mark.parametrize(("pulled", "why"), [(True, "has pulled all"), (False, "was deleted")])
@pytest.mark.parametrize("jobs", [0, 1])
async def test_a_run_without_a_volume_is_not_waited_for(
    cluster: FakeCluster, tmp_path: Path, pulled: bool, why: str, jobs: int
) -> None:
    """Its Job may have gone with it, or wait for it in vain."""
    if not jobs:
        del cluster.objects["jobs", "emufarm-one"]
    del cluster.objects["persistentvolumeclaims", "emufarm-one"]
    cluster.objects["farmruns", "one"]["status"]["pulled"] = pulled
    with pytest.raises(UsageError, match=f"the volume of one .*{why}"):
        await followed(tmp_path)
    assert len(cluster.jobs()) == jobs


async def test_a_run_that_is_being_made_is_waited_for(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "GIVE_UP_S", 0.3)
    del cluster.objects["farmruns", "one"]["status"]
    del cluster.objects["jobs", "emufarm-one"]
    del cluster.objects["persistentvolumeclaims", "emufarm-one"]
    with pytest.raises(EmufarmError, match="has no Pod yet"):
        await followed(tmp_path)
    assert cluster.jobs() == []


async def test_a_coordinator_in_a_queue_is_waited_for_without_limit(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "GIVE_UP_S", 0.2)
    pod = cluster.coordinator_pod("emufarm-one-x", phase="Pending", conditions=[
        {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}])  # fmt: skip
    pod["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    asked, looks = asyncio.Event(), list[str]()

    def listed(plural: str) -> None:
        looks.append(plural)
        if looks.count("pods") > 20:  # LOOK_S lies between two
            asked.set()

    cluster.on_list = listed
    with pytest.raises(RunInterrupted):
        await followed(tmp_path, asked=asked)


async def test_who_asks_to_stop_is_heard_in_the_midst_of_an_ended_run(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    """And is told how to go on, in the same place."""
    asked = asyncio.Event()
    asked.set()
    async with served(cluster, await sealed_run(tmp_path)) as finished:
        command = f"`emufarm runs watch one --runs {tmp_path}/runs --context other`"
        with pytest.raises(RunInterrupted, match=f"the cluster keeps the run: {command}"):
            await followed(tmp_path, asked=asked)
        assert not finished.pulled.is_set()
    assert not list((tmp_path / "runs").glob("one/episodes/*/attempt-*"))


async def test_another_version_is_told_what_to_do(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.objects["farmruns", "one"]["spec"]["version"] = "9.8.7"
    with pytest.raises(UsageError, match=r"9\.8\.7.*with emufarm 9\.8\.7"):
        watching.require_same(tmp_path, cluster.objects["farmruns", "one"])


async def test_a_coordinator_that_does_not_end_is_named(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinators, "LEAVES_S", 0.1)
    cluster.coordinator_pod("emufarm-one-old", phase="Running")
    async with farm_namespace("", "") as farm:
        with pytest.raises(
            EmufarmError, match="kubectl delete pod emufarm-one-old -n farm --force"
        ):
            await coordinators.end_coordinators(farm.run("one"), asyncio.Event())
    assert cluster.jobs() == []


async def test_no_second_coordinator_is_started_beside_one_that_has_lost_its_job(
    cluster: FakeCluster,
) -> None:
    """Somebody deleted the Job alone, or a resume waits for its Pod to end."""
    cluster.add_run(PLAN, phase="Running")
    del cluster.objects["jobs", "emufarm-one"]
    cluster.coordinator_pod("emufarm-one-old", phase="Running")
    async with farm_namespace("", "") as farm:
        why = await coordinators.explain(farm.run("one"), EmufarmError("no answer"))
    assert "away" in why.text
    assert cluster.jobs() == []


@pytest.mark.parametrize(
    ("until", "jobs"), [("2031-01-01T00:00:00Z", 1), ("2021-01-01T00:00:00Z", 2)]
)
async def test_a_run_is_served_although_the_pod_of_a_lost_node_never_ends(
    cluster: FakeCluster, until: str, jobs: int
) -> None:
    """Nobody confirms its end, so its Job only says that it is about to end. A Pod that still has
    time is waited for."""
    job = cluster.objects["jobs", "emufarm-one"]
    job["status"] = {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}
    pod = cluster.coordinator_pod("emufarm-one-old", phase="Running")
    pod["metadata"]["deletionTimestamp"] = until
    async with farm_namespace("", "") as farm:
        await coordinators.explain(farm.run("one"), EmufarmError("no answer"))
    assert len(cluster.jobs()) == jobs
