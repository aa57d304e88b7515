"""The coordinator of a run on a cluster, in its Pod: from an empty volume to a pulled run.

It waits for the run's documents, executes the run beside its FarmRun, and then serves the folder
until somebody has pulled it. Being asked to stop it leaves its devices: whoever is started in its
place goes on with them. Only `cancel` in the FarmRun ends them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ... import __version__
from ...coordinator.chain import JournalBroken
from ...coordinator.credentials import Secrets, WorkerKey
from ...coordinator.finished_run import FinishedRun
from ...coordinator.intake import Intake, taking
from ...coordinator.notices import NoticeLog
from ...coordinator.observer import UNOBSERVED
from ...coordinator.server import reading
from ...coordinator.transitions import DeviceFailed, DeviceLost
from ...errors import EmufarmError, RunInterrupted, UsageError
from ...events.interpreter import serve_steadily
from ...files import read_secret
from ...fleet.kubernetes import names
from ...fleet.kubernetes.access import ClusterAccess, pod_access
from ...fleet.kubernetes.api import PODS, SECRETS, ClusterAway, Json, KubernetesApi
from ...fleet.kubernetes.farm_run import (
    FARM_RUNS,
    UNREADABLE,
    RunStanding,
    ended_standing,
    timestamp,
)
from ...fleet.kubernetes.nodes import is_avoidance
from ...fleet.kubernetes.pod_status import AGENT, DEVICE
from ...fleet.kubernetes.run_objects import ADMIN, KEY
from ...metrics.page import LINGER_S as METRICS_LINGER_S
from ...metrics.page import MetricsPage
from ...metrics.run_metrics import RunMetrics
from ...plan.plan import Plan
from ...plan.store import FILE as PLAN
from ...plan.store import read_plan
from ..execute import Lasting, WantedDevices, execute
from ..exposed import linger, looking_at_room, run_metrics
from ..interruption import blocking
from ..recorded import created_s, recorded
from ..run_events import Journaled, Notice, OnEvent, RunEvent, RunStarted
from .documents import DOCUMENTS, read_job
from .status import FarmRunKeeper
from .volume import watch_volume

HOST = "0.0.0.0"
INTAKE_S = 900.0  # for the documents to come: the command line may have been killed
LINGER_S = 900.0  # for somebody to pull the ended run; later a serve-only coordinator is started
DECIDED = "every episode is decided"
LEAVING = "leaving: devices stay at work, and the next coordinator goes on with them"
_PAUSE_S = 2.0


@dataclass(frozen=True)
class PodArguments:
    """What the coordinator's container is started with."""

    run: str
    url: str  # as workers reach it
    folder: Path  # that holds the run's
    secrets: Path
    port: int
    pending_s: float
    linger_s: float = LINGER_S
    serve_only: bool = False
    resume: bool = False  # of a run that failed
    metrics_port: int | None = None  # where it serves /metrics
    metrics_linger_s: float = METRICS_LINGER_S

    def words(self) -> list[str]:
        """Of the command line."""
        options: dict[str, object] = {
            "--url": self.url, "--folder": self.folder, "--secrets": self.secrets,
            "--port": self.port, "--pending-timeout": self.pending_s, "--linger": self.linger_s,
        }  # fmt: skip
        words = ["cluster-coordinator", self.run]
        if self.metrics_port is not None:
            options |= {
                "--metrics-port": self.metrics_port, "--metrics-linger": self.metrics_linger_s,
            }  # fmt: skip
        words += [word for name, value in options.items() for word in (name, str(value))]
        words += ["--serve-only"] if self.serve_only else []
        return [*words, *(["--resume"] if self.resume else [])]


def coordinate(arguments: PodArguments, on_event: OnEvent) -> None:
    """Until the run has ended and was pulled, or nobody came to pull it. RunInterrupted where it
    was asked to stop before; another EmufarmError where a restart may help."""
    names.require_run_name(arguments.run)
    secrets = Secrets(
        WorkerKey(read_secret(arguments.secrets / KEY)), read_secret(arguments.secrets / ADMIN)
    )
    access = pod_access()
    serve_steadily()
    blocking(
        lambda asked: PodCoordinator(arguments, secrets, access, on_event).run(asked),
        on_event,
        LEAVING,
    )


class PodCoordinator:
    def __init__(
        self, arguments: PodArguments, secrets: Secrets, access: ClusterAccess, on_event: OnEvent
    ) -> None:
        self._arguments = arguments
        self._secrets = secrets
        self._access = access
        self._on_event = on_event
        self._folder = arguments.folder / arguments.run
        self._notices = NoticeLog()
        self._trouble = ""  # the last notice: why a run failed that nobody cancelled
        self._keeper: FarmRunKeeper | None = None
        self._page = MetricsPage()

    async def run(self, asked: asyncio.Event) -> None:
        arguments = self._arguments
        if arguments.metrics_port is None:
            await self._run(asked)
            return
        async with self._page.served(HOST, arguments.metrics_port):
            await self._run(asked)

    async def _run(self, asked: asyncio.Event) -> None:
        async with KubernetesApi(self._access) as api:
            came = await self._take_documents(api, asked)
            farm_run = await self._farm_run(api, asked)
            async with FarmRunKeeper(api, farm_run, self._notify) as keeper:
                self._keeper = keeper
                if not came:
                    text = f"the run's documents did not come within {INTAKE_S:.0f} s"
                    await self._fail(api, keeper, RunStanding("Failed", text))
                    return
                standing = ended_standing(farm_run)
                pulled_at = standing.pulled_at if standing else ""
                if self._arguments.resume:
                    standing = None
                try:
                    if standing is None and not self._arguments.serve_only:
                        standing = await self._execute(farm_run, keeper, asked)
                    await self._serve(keeper, standing, asked)
                except (JournalBroken, UsageError) as error:
                    if isinstance(error.__cause__, OSError):
                        raise  # the volume may answer the next coordinator
                    broken = isinstance(error, JournalBroken) or self._arguments.serve_only
                    reason = UNREADABLE if broken else ""
                    failed = RunStanding("Failed", str(error), pulled_at, reason)
                    await self._fail(api, keeper, failed)

    async def _fail(self, api: KubernetesApi, keeper: FarmRunKeeper, failed: RunStanding) -> None:
        """Another coordinator would find the same. Nobody else would end the run's devices."""
        self._notify(f"the run has failed: {failed.message}")
        keeper.event("Failed", failed.message)
        try:
            for component in (DEVICE, AGENT):
                selector = names.run_selector(self._arguments.run, component)
                for pod in (await api.listed(PODS, selector))[0]:
                    await api.delete(PODS, pod["metadata"]["name"])
                    await api.delete(SECRETS, pod["metadata"]["name"])
        except EmufarmError as error:
            self._notify(f"devices of the run stay in the cluster: {error}")
        await keeper.stand(failed)

    async def _take_documents(self, api: KubernetesApi, asked: asyncio.Event) -> bool:
        """Whether they came; somebody may have given up meanwhile. An ended run has them."""
        intake = Intake(self._folder, DOCUMENTS)
        if intake.whole.is_set() or self._arguments.serve_only:
            return True
        async with taking(intake, self._secrets, HOST, self._arguments.port):
            checking = asyncio.create_task(self._check(api, intake))
            try:
                await _first(INTAKE_S, intake.whole.wait(), asked.wait())
            finally:
                checking.cancel()
        if asked.is_set():
            raise RunInterrupted("stopped before the run's documents came")
        return intake.whole.is_set()

    async def _check(self, api: KubernetesApi, intake: Intake) -> None:
        """What a run would fail of is said before its documents are sent."""
        while True:
            try:
                found = await self._find(api)
                await api.listed(PODS, names.run_selector(self._arguments.run))
                wanted = found["spec"]["version"]
                if wanted != __version__:
                    intake.trouble = (
                        f"the worker image has emufarm {__version__}, and the run was made by "
                        f"{wanted}: push the image again with `emufarm image push`"
                    )
                else:
                    intake.trouble = ""
                break
            except ClusterAway as error:
                intake.trouble = str(error)
                self._notify(str(error))
                await asyncio.sleep(_PAUSE_S)
            except EmufarmError as error:
                intake.trouble = f"the coordinator may not use the cluster: {error}"
                break
        intake.checked = True

    async def _farm_run(self, api: KubernetesApi, asked: asyncio.Event) -> Json:
        told = ""
        while True:
            try:
                return await self._find(api)
            except ClusterAway as error:
                if told != str(error):
                    told = str(error)
                    self._notify(told)
            await _first(_PAUSE_S, asked.wait())
            if asked.is_set():
                raise RunInterrupted("stopped while the API server was away")

    async def _find(self, api: KubernetesApi) -> Json:
        found = await api.get(FARM_RUNS, self._arguments.run)
        if found is None:
            raise EmufarmError(f"the FarmRun {self._arguments.run} is gone")
        return found

    async def _execute(
        self, farm_run: Mapping[str, Any], keeper: FarmRunKeeper, asked: asyncio.Event
    ) -> RunStanding:
        arguments = self._arguments
        job = read_job(self._folder, self._access, farm_run, arguments.pending_s)
        wanted = WantedDevices(job.devices)
        lasting = Lasting(
            self._secrets, arguments.port, arguments.url, wanted, notices=self._notices
        )

        def on_spec(spec: Mapping[str, Any]) -> None:
            wanted.want(int(spec["devices"]))
            if spec.get("cancel"):
                lasting.cancelled.set()

        on_spec(farm_run["spec"])
        if lasting.cancelled.is_set():  # meanwhile: what a predecessor left is ended in order
            job = replace(job, devices=0)
        keeper.follow_spec(on_spec)
        volume = asyncio.create_task(
            watch_volume(self._folder, lasting.paused, self._volume_changed, self._notify)
        )
        keeper.standing = RunStanding("Running")
        counts = run_metrics(arguments.run, job.plan, job.backend.lock.digest, job.backend.name)
        self._page.show(counts)
        try:
            async with looking_at_room(counts, self._folder):
                complete = await execute(job, self._report, asked, lasting, counts)
        finally:
            volume.cancel()
        self._page.end()
        standing = RunStanding("Failed", self._trouble or "no device is left")
        if complete:
            standing = RunStanding("Complete", DECIDED)
        elif lasting.cancelled.is_set():
            standing = RunStanding("Cancelled", "somebody cancelled the run")
        keeper.event(standing.phase, standing.message, warning=not complete)
        return standing

    async def _serve(
        self, keeper: FarmRunKeeper, standing: RunStanding | None, asked: asyncio.Event
    ) -> None:
        """The ended run, until somebody has pulled it. How it ended is found out where it is not on
        record."""
        if not (self._folder / PLAN).is_file():
            raise UsageError(f"{self._folder} has no run to serve")
        plan = await asyncio.to_thread(read_plan, self._folder / PLAN)
        counts = None if self._page.shows else self._ended_counts(plan)
        finished = await asyncio.to_thread(
            FinishedRun, self._folder, plan, self._notices, counts or UNOBSERVED
        )
        if counts is not None:
            counts.state = finished.state
            self._page.show(counts)
            self._page.end()
        if standing is None and finished.view()["sealed"]:
            standing = RunStanding("Complete", DECIDED)
        elif standing is None:
            standing = RunStanding("Failed", "the run ended before every episode was decided")
        keeper.view = finished.view
        self._notify(f"the run has ended: {standing.phase}: {standing.message}")
        async with reading(finished, self._secrets, HOST, self._arguments.port):
            await keeper.stand(standing)
            await _first(self._arguments.linger_s, finished.pulled.wait(), asked.wait())
            if finished.pulled.is_set():
                await keeper.stand(RunStanding(standing.phase, standing.message, timestamp()))
            elif asked.is_set():
                raise RunInterrupted("stopped before the run was pulled")
            # Still being served: somebody else may pull it meanwhile.
            await linger(self._page, self._arguments.metrics_linger_s, asked)

    def _ended_counts(self, plan: Plan) -> RunMetrics | None:
        """Of a run that this process only serves; none where its manifest does not say what it
        is."""
        try:
            before = recorded(self._folder, plan)
            began_s = created_s(self._folder)
        except UsageError:
            return None
        counts = run_metrics(self._arguments.run, plan, before.image, before.backend)
        counts.began_s = began_s
        return counts

    def _report(self, event: RunEvent) -> None:
        keeper = self._keeper
        assert keeper is not None
        match event:
            case RunStarted():
                keeper.view = event.view
            case Notice():
                self._trouble = event.text
                self._notices.add(event.text)
                if is_avoidance(event.text):
                    keeper.event("NodeAvoided", event.text)
            case Journaled(DeviceLost() as lost):
                keeper.event("DeviceLost", f"{lost.device} ({lost.cause}): {lost.text}")
            case Journaled(DeviceFailed() as failed):
                keeper.event("DeviceNotStarted", f"{failed.device}: {failed.text}")
        self._on_event(event)

    def _notify(self, text: str) -> None:
        self._notices.add(text)
        self._on_event(Notice(text))

    def _volume_changed(self, full: bool, text: str) -> None:
        assert self._keeper is not None
        self._keeper.standing = RunStanding("Paused" if full else "Running", text if full else "")
        self._keeper.event("VolumeFilling" if full else "VolumeHasRoom", text, warning=full)
        self._notify(text)


async def _first(seconds: float, *waits: Awaitable[object]) -> None:
    """Returns when one of them has, at the latest after this time."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
