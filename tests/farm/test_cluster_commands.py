"""What the commands for a run on a cluster keep, remove, refuse and say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from orchestrator.cli.run import conclude
from orchestrator.coordinator.client import CoordinatorClient
from orchestrator.coordinator.finished_run import FinishedRun
from orchestrator.coordinator.messages import Lease
from orchestrator.coordinator.open_run import open_run
from orchestrator.coordinator.server import listening, reading
from orchestrator.errors import UsageError
from orchestrator.farm import runner
from orchestrator.farm.cluster import commands, watching
from orchestrator.farm.cluster.commands import NothingLeased
from orchestrator.farm.cluster.listing import local_runs
from orchestrator.farm.cluster.options import ClusterOptions
from orchestrator.farm.cluster.reach import farm_namespace
from orchestrator.farm.cluster.start import NewRun, require_secret
from orchestrator.farm.run_events import ignore
from orchestrator.farm.runs import Run
from orchestrator.fleet.kubernetes.api import Json
from orchestrator.pins.profile import load_profile
from orchestrator.plan.store import write_plan
from tests.cli.test_help import helped
from tests.coordinator.conftest import SECRETS
from tests.coordinator.runs import SETTINGS, a_plan
from tests.farm.fake_cluster import FakeCluster, use
from tests.farm.test_pull import EPISODES, sealed_run

PLAN = a_plan(EPISODES)
LONG_S = 60.0


@pytest.fixture
async def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeCluster]:
    """Without a run."""
    monkeypatch.setattr(watching, "AWAY_S", 0.0)
    monkeypatch.setattr(watching, "LOOK_S", 0.05)
    found = FakeCluster()
    async with found.serving(tmp_path):
        use(found, monkeypatch)
        yield found


def runs(tmp_path: Path) -> Path:
    """A folder of runs, with the plan of the run `one`."""
    (tmp_path / "runs" / "one").mkdir(parents=True)
    write_plan(tmp_path / "runs" / "one" / "plan.json", PLAN)
    return tmp_path / "runs"


async def unfinished_run(tmp_path: Path, *, leased: bool) -> Path:
    """One that its coordinator gave up, before or during its first attempt."""
    run = tmp_path / "run"
    async with (
        open_run(run, PLAN, SETTINGS) as coordinator,
        listening(coordinator, SECRETS) as url,
    ):
        if leased:
            secret = SECRETS.workers.secret("slot-00.1")
            with CoordinatorClient(url, secret, worker="w", away_s=0.0) as client:
                assert isinstance(await asyncio.to_thread(client.lease, 1), Lease)
    (run / "logs").mkdir()
    (run / "logs" / "slot-00.1.pod.json").write_text("{}")
    return run


@asynccontextmanager
async def served(cluster: FakeCluster, run: Path) -> AsyncIterator[None]:
    async with reading(FinishedRun(run, PLAN), SECRETS) as url:
        cluster.coordinator = url
        yield


async def aside(call: Callable[..., Any], *words: Any, **options: Any) -> Any:
    async with asyncio.timeout(LONG_S):
        return await asyncio.to_thread(call, *words, **options)


async def test_a_run_that_failed_during_its_first_attempt_is_kept(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    """Journal, bundles and Pod status are the only record of why."""
    place, run = runs(tmp_path), await unfinished_run(tmp_path, leased=True)
    cluster.add_run(PLAN, phase="Failed", decided=0, message="exceeded quota")
    async with served(cluster, run):
        done = await aside(commands.watch, "one", runs=place)
    assert not done.complete
    assert ("farmruns", "one") in cluster.objects
    assert (place / "one" / "logs" / "slot-00.1.pod.json").is_file()


async def test_a_run_that_failed_before_any_attempt_is_removed_and_what_is_left_is_said(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    """By whoever follows it to its end, and never by a pull."""
    place, run = runs(tmp_path), await unfinished_run(tmp_path, leased=False)
    cluster.add_run(PLAN, phase="Failed", decided=0, message="exceeded quota")
    async with served(cluster, run):
        await aside(commands.watch, "one", runs=place, now=True)
        assert ("farmruns", "one") in cluster.objects
        with pytest.raises(NothingLeased, match=rf"quota; .* and {place}/one has its journal"):
            await aside(commands.watch, "one", runs=place)
    assert ("farmruns", "one") not in cluster.objects
    assert (place / "one" / "logs" / "slot-00.1.pod.json").is_file()


@pytest.mark.parametrize("leased", [True, False])
async def test_a_started_run_leaves_its_folder_where_anything_was_leased(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leased: bool
) -> None:
    run, folder = await unfinished_run(tmp_path, leased=leased), tmp_path / "runs" / "one"

    async def start(*_: object) -> None:
        runs(tmp_path)
        cluster.add_run(PLAN, phase="Failed", decided=0, message="exceeded quota")

    monkeypatch.setattr(commands, "start", start)
    new = NewRun(
        folder, PLAN, SETTINGS, load_profile("sim-api34"), 1, tmp_path, ClusterOptions()
    )  # fmt: skip
    async with served(cluster, run):
        if leased:
            assert (await aside(commands.run_on_cluster, new, ignore)).folder == folder
        else:
            with pytest.raises(NothingLeased, match="nothing is left of the run"):
                await aside(commands.run_on_cluster, new, ignore)
    assert folder.exists() == leased
    assert (("farmruns", "one") in cluster.objects) == leased


async def test_a_failed_run_is_resumed_once_its_former_coordinator_is_gone(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    """That one would tell whoever follows that the run has ended."""
    place, run = runs(tmp_path), await sealed_run(tmp_path)
    cluster.add_run(PLAN, phase="Failed", decided=1)
    cluster.coordinator_pod("emufarm-one-old", phase="Running")
    looks: list[str] = []

    def listed(plural: str) -> None:
        looks.append(plural)
        if plural == "pods" and looks.count("pods") == 3:
            cluster.objects.pop(("pods", "emufarm-one-old"))

    cluster.on_list = listed
    former: list[bool] = []
    async with served(cluster, run):

        def created(plural: str, made: Json) -> None:
            former.append(("pods", "emufarm-one-old") in cluster.objects)
            cluster.objects["farmruns", "one"]["status"]["phase"] = "Complete"

        cluster.on_create = created
        done = await aside(
            commands.resume_on_cluster, "one", devices=0, options=ClusterOptions(), runs=place,
            on_event=ignore,
        )  # fmt: skip
    assert done.complete
    assert former == [False]
    (job,) = cluster.jobs()
    assert "--resume" in job["spec"]["template"]["spec"]["containers"][0]["args"]


async def test_a_run_whose_job_was_deleted_is_resumed(cluster: FakeCluster, tmp_path: Path) -> None:
    place, run = runs(tmp_path), await sealed_run(tmp_path)
    cluster.add_run(PLAN, phase="Running", decided=1)
    del cluster.objects["jobs", "emufarm-one"]
    async with served(cluster, run):
        await aside(
            commands.resume_on_cluster, "one", devices=0, options=ClusterOptions(), runs=place,
            on_event=ignore,
        )  # fmt: skip
    (job,) = cluster.jobs()
    assert "--resume" in job["spec"]["template"]["spec"]["containers"][0]["args"]


@pytest.mark.parametrize("phase", ["Complete", "Failed", "Cancelled"])
async def test_what_has_ended_is_not_cancelled(cluster: FakeCluster, phase: str) -> None:
    """A failed run could not be resumed any more."""
    cluster.add_run(PLAN, phase=phase)
    with pytest.raises(UsageError, match=rf"one has ended \({phase}\).*emufarm runs pull one`"):
        await aside(commands.cancel, "one")
    assert "cancel" not in cluster.objects["farmruns", "one"]["spec"]


async def test_what_goes_on_is_cancelled_and_how_to_follow_it_is_said(cluster: FakeCluster) -> None:
    cluster.add_run(PLAN, phase="Running")
    options = ClusterOptions(namespace="farm", context="other")
    told = await aside(commands.cancel, "one", options=options, runs="elsewhere")
    assert told == "emufarm runs watch one --runs elsewhere --namespace farm --context other"
    assert cluster.objects["farmruns", "one"]["spec"]["cancel"] is True


async def test_a_cancelled_run_is_not_said_to_be_resumable(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, run = runs(tmp_path), await unfinished_run(tmp_path, leased=True)
    cluster.add_run(PLAN, phase="Cancelled")["spec"]["cancel"] = True
    async with served(cluster, run):
        done = await aside(commands.watch, "one", runs=place)
    with pytest.raises(typer.Exit) as ended:
        conclude(done, None, as_json=False)
    assert ended.value.exit_code == 20
    assert "one was cancelled before every episode was decided" in (told := capsys.readouterr().err)
    assert "resume" not in told
    with pytest.raises(typer.Exit):
        conclude(replace(done, cancelled=False), None, False, ClusterOptions("farm", "other"))
    again = f"emufarm resume {place}/one --namespace farm --context other"
    assert again in capsys.readouterr().err


async def test_a_folder_is_pulled_once_it_has_all_of_a_sealed_run(tmp_path: Path) -> None:
    place = runs(tmp_path)
    assert [(one.name, one.pulled) for one in local_runs(place)] == [("one", False)]
    run = await sealed_run(tmp_path)
    write_plan(run / "plan.json", PLAN)
    run.rename(place / "two")
    assert {one.name: one.pulled for one in local_runs(place)} == {"one": False, "two": True}
    bundle = next((place / "two").glob("episodes/*/attempt-*"))
    bundle.rename(tmp_path / "lost")
    assert not any(one.pulled for one in local_runs(place))


@pytest.mark.parametrize(
    ("given", "name", "place"),
    [
        ("one", "one", "kept"),
        ("runs/one", "one", "runs"),
        ("runs/one/", "one", "runs"),
        ("/tmp/elsewhere/two", "two", "/tmp/elsewhere"),
    ],
)
def test_a_run_of_a_cluster_is_named_by_its_name_or_its_folder(
    given: str, name: str, place: str
) -> None:
    assert commands.named(given, "kept") == (name, Path(place))


def test_a_run_is_named_by_the_folder_that_somebody_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = runs(tmp_path)
    monkeypatch.chdir(place)
    assert commands.named("one") == ("one", place)
    monkeypatch.chdir(place / "one")
    assert commands.named(".") == ("one", place)


def test_options_of_a_cluster_are_refused_elsewhere(tmp_path: Path) -> None:
    options = ClusterOptions(detach=True, keep_s=3, agent_egress=("a:1",))
    with pytest.raises(UsageError, match=r"^--detach, --keep, --agent-egress: only for a run on"):
        runner.run(backend="local", runs=tmp_path, cluster=options)
    assert list(tmp_path.iterdir()) == []


def test_every_option_of_a_cluster_has_its_flag() -> None:
    every = ClusterOptions("n", "c", True, 1.0, "1Gi", "fast", 1, ("a:1",), "s", True)
    flags = every.given()
    assert len(flags) == 10
    told = helped("run")
    assert [flag for flag in flags if f"{flag} " not in told] == []


def test_a_run_that_is_cancelled_equals_itself() -> None:
    """Whether somebody knows that it was cancelled is no part of the run."""
    assert Run(Path("a"), PLAN, cancelled=True) == Run(Path("a"), PLAN)


async def test_an_agents_secret_that_is_not_there_is_told_before_anything_is_made(
    cluster: FakeCluster,
) -> None:
    """No agent could start without it, and each attempt would be lost to that."""
    async with farm_namespace("", "") as farm:
        run = farm.run("one")
        with pytest.raises(UsageError, match="the namespace farm has no such Secret"):
            await require_secret(run, "model-key")
        cluster.add("secrets", {"metadata": {"name": "model-key"}})
        await require_secret(run, "model-key")
