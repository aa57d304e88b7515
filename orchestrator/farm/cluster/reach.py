"""Reaches a run on a cluster with the user's own kubeconfig: its objects, and its coordinator."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ...coordinator.follow import AdminClient
from ...errors import UsageError
from ...fleet.kubernetes import names
from ...fleet.kubernetes.access import ClusterAccess, kubeconfig_access
from ...fleet.kubernetes.api import (
    EVENTS,
    PODS,
    SECRETS,
    ClusterRefused,
    Json,
    KubernetesApi,
)
from ...fleet.kubernetes.farm_run import FARM_RUNS
from ...fleet.kubernetes.pod_status import Waiting, start_trouble
from ...fleet.kubernetes.run_objects import ADMIN, JOBS, proxy_path
from ...outcome import Cause
from ..runs import RUNS
from .options import cluster_flags, run_command

NAMESPACE = "emufarm"  # of k8s/base
COORDINATOR = "coordinator"
_LOG_LINES = 5


@dataclass(frozen=True)
class FarmNamespace:
    """A namespace with a farm in it."""

    access: ClusterAccess
    api: KubernetesApi
    flags: str = ""  # that lead to it, as a command has them behind its other words

    @property
    def name(self) -> str:
        return self.api.namespace

    def run(self, run: str, runs: str | Path = RUNS) -> ClusterRun:
        """`runs` is where its folder is on this machine, or will be."""
        names.require_run_name(run)
        return ClusterRun(self, run, Path(runs))

    async def runs(self) -> list[Json]:
        """Every FarmRun, the latest first."""
        try:
            found, _ = await self.api.listed(FARM_RUNS, "")
        except ClusterRefused as error:
            raise refused(error, self.name) from error
        return sorted(
            found, key=lambda one: str(one["metadata"]["creationTimestamp"]), reverse=True
        )


@asynccontextmanager
async def farm_namespace(namespace: str, context: str) -> AsyncIterator[FarmNamespace]:
    """UsageError where the kubeconfig names no cluster."""
    access = await asyncio.to_thread(kubeconfig_access, context)
    async with KubernetesApi(access, namespace or access.namespace or NAMESPACE) as api:
        yield FarmNamespace(access, api, cluster_flags(namespace, context))


@dataclass(frozen=True)
class ClusterRun:
    """One run in it; the methods raise ClusterAway where the API server does not answer."""

    farm: FarmNamespace
    name: str
    runs: Path = RUNS  # where its folder is on this machine

    def command(self, words: str) -> str:
        """`emufarm` with these words, for this run as the user named it."""
        return run_command(words, self.name, self.runs, self.farm.flags)

    @property
    def api(self) -> KubernetesApi:
        return self.farm.api

    async def find(self) -> Json | None:
        """Its FarmRun."""
        try:
            return await self.api.get(FARM_RUNS, self.name)
        except ClusterRefused as error:
            raise refused(error, self.farm.name) from error

    async def farm_run(self) -> Json:
        """UsageError where there is none."""
        if found := await self.find():
            return found
        raise UsageError(
            f"there is no run {self.name} in the namespace {self.farm.name}: `emufarm runs list` "
            "shows those that there are"
        )

    async def client(self, away_s: float) -> AdminClient:
        """To its coordinator, through the API server's proxy."""
        try:
            secret = await self.api.get(SECRETS, names.run_object(self.name))
        except ClusterRefused as error:
            raise refused(error, self.farm.name) from error
        if secret is None:
            await self.farm_run()  # it may be gone
            raise UsageError(f"the run {self.name} has no Secret: it was not made by `emufarm run`")
        admin = base64.b64decode(secret["data"][ADMIN]).decode()
        http = await asyncio.to_thread(
            self.farm.access.client, proxy_path(self.farm.name, self.name)
        )
        return AdminClient(http, admin, away_s)

    async def jobs(self) -> list[Json]:
        """Of its coordinators, the first one made first."""
        found, _ = await self.api.listed(JOBS, names.run_selector(self.name))
        return sorted(found, key=lambda one: str(one["metadata"]["creationTimestamp"]))

    async def coordinator_trouble(self) -> Waiting | None:
        """Why its coordinator does not run; None where it does."""
        found, _ = await self.api.listed(PODS, names.run_selector(self.name, COORDINATOR))
        living = [
            pod for pod in found
            if not pod["metadata"].get("deletionTimestamp")
            and pod["status"].get("phase") not in ("Succeeded", "Failed")
        ]  # fmt: skip
        if not living:
            return Waiting(Cause.UNKNOWN, await self._no_pod())
        latest = max(living, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
        trouble = start_trouble(latest, COORDINATOR)
        if trouble is None or trouble.hopeless or trouble.queued:
            return trouble
        if trouble.cause is Cause.UNSCHEDULABLE:
            return trouble
        pod = latest["metadata"]["name"]
        log = await self.api.log_tail(pod, COORDINATOR, _LOG_LINES, previous=True)
        text = f"{trouble.text}: {log.strip()}" if log.strip() else trouble.text
        return Waiting(trouble.cause, text)

    async def _no_pod(self) -> str:
        """A Job that may not make its Pod says so in an event only."""
        events, _ = await self.api.listed(EVENTS, "", "involvedObject.kind=Job")
        jobs = {job["metadata"]["name"] for job in await self.jobs()}
        failed = [
            one for one in events
            if one.get("reason") == "FailedCreate" and one["involvedObject"].get("name") in jobs
        ]  # fmt: skip
        if not failed:
            return "its coordinator has no Pod yet"
        return str(max(failed, key=lambda one: str(one.get("lastTimestamp"))).get("message"))

    async def delete(self) -> None:
        """And with it all that it owns."""
        await self.api.delete(FARM_RUNS, self.name)


class AccessRefused(UsageError):
    """The user may not do it. An API server that was just started says so to everybody, for a
    moment: it does not know its roles yet."""


def refused(error: ClusterRefused, namespace: str) -> UsageError:
    """What the user can do about it."""
    text = str(error)
    if error.status == 404 and "namespaces" not in text:
        return UsageError(
            f"the cluster has no FarmRuns ({text}): apply k8s/overlays/sim or k8s/overlays/kvm "
            "(docs/kubernetes.md)"
        )
    if error.status == 404:
        return UsageError(f"{text}: name the farm's namespace with --namespace, or apply k8s/")
    if error.status == 401:
        return AccessRefused(f"the cluster does not accept the kubeconfig's credentials: {text}")
    if error.status == 403 and "exceeded quota" not in text:
        return AccessRefused(
            f"you may not do this in the namespace {namespace}: {text}; its administrator can bind "
            "the Role emufarm-user to you"
        )
    return UsageError(f"the cluster refused it: {text}")
