"""A fleet of Pods on a real API server without nodes: the test is the kubelet, and writes what
becomes of each Pod."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from orchestrator.coordinator.credentials import WorkerKey
from orchestrator.fleet.fact import DeviceFact
from orchestrator.fleet.fleet import SlotFleet
from orchestrator.fleet.kubernetes import names
from orchestrator.fleet.kubernetes.access import ClusterAccess, kubeconfig_access
from orchestrator.fleet.kubernetes.api import PODS, Json, KubernetesApi, ObjectKind
from orchestrator.fleet.kubernetes.backend import KubernetesBackend
from orchestrator.fleet.kubernetes.pod_spec import AgentPodImage
from orchestrator.fleet.port import FleetOrder
from orchestrator.pins.profile import FILE, images_folder, load_profile
from tests.e2e.cluster.cluster import Cluster
from tests.fleet.contract import PATIENCE_S
from tests.pins.a_lock import LOCK

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "k8s" / "base" / "pod-templates" / "device.yaml"
NAMESPACE, PROFILE = "emufarm", "sim-api34"
DIGEST = "sha256:" + "0" * 64
IMAGE = f"registry.test/it@{DIGEST}"
FARM_RUNS = ObjectKind("apis/emufarm.dev/v1alpha1", "farmruns")
T0 = "2026-01-01T00:00:00Z"


def container(name: str, state: Json, *, restarts: int = 0, last: Json | None = None,
              started: bool = True) -> Json:  # fmt: skip
    return {
        "name": name, "image": IMAGE, "imageID": IMAGE, "ready": "running" in state,
        "restartCount": restarts, "started": started, "state": state, "lastState": last or {},
    }  # fmt: skip


RUNNING: Json = {"running": {"startedAt": T0}}


def ended_with(code: int, reason: str = "Error", message: str = "") -> Json:
    return {
        "terminated": {
            "exitCode": code, "reason": reason, "message": message, "startedAt": T0,
            "finishedAt": T0,
        }
    }  # fmt: skip


def status(device: Json | None = None, worker: Json | None = None, **more: Any) -> Json:
    """A Pod that runs, but for what is given."""
    return {
        "phase": "Running",
        "initContainerStatuses": [device or container("device", RUNNING)],
        "containerStatuses": [worker or container("worker", RUNNING)],
        **more,
    }


def left_with(code: int) -> Json:
    return status(
        worker=container("worker", ended_with(0, "Completed", str(code))), phase="Succeeded"
    )


def condition(kind: str, reason: str, state: str = "True", message: str = "") -> Json:
    return {
        "type": kind, "status": state, "reason": reason, "message": message,
        "lastTransitionTime": T0,
    }  # fmt: skip


@dataclass
class PodsByHand:
    """One run's fleet, and the cluster as its kubelets see it."""

    api: KubernetesApi
    access: ClusterAccess
    folder: Path
    owner: Json
    run: str
    template: Json
    pending_s: float = 600.0
    seal_s: float = 1.0
    agent: AgentPodImage | None = None
    facts: asyncio.Queue[DeviceFact] = field(default_factory=asyncio.Queue)
    notices: list[str] = field(default_factory=list)
    dead_nodes: set[str] = field(default_factory=set)  # whose kubelets confirm nothing

    @property
    def logs(self) -> Path:
        """Of its run's folder."""
        return self.folder.parent / self.run / "logs"

    def backend(self) -> KubernetesBackend:
        text = (images_folder() / PROFILE / FILE).read_text()
        return KubernetesBackend(
            self.access, NAMESPACE, self.owner, self.template, IMAGE, IMAGE, LOCK,
            load_profile(PROFILE), text, seal_s=self.seal_s, pending_s=self.pending_s,
            agent=self.agent,
        )  # fmt: skip

    def order(self, devices: int, starts: int, adopted: tuple[str, ...] = ()) -> FleetOrder:
        self.folder.mkdir(exist_ok=True)
        return FleetOrder(
            devices=devices, coordinator="http://127.0.0.1:9", key=WorkerKey("a key"),
            work=self.folder, starts=starts, boot_s=60.0, linger_s=1.0, adopted=adopted,
            first_numbers={name.rpartition(".")[0]: 2 for name in adopted},
        )  # fmt: skip

    @asynccontextmanager
    async def fleet(
        self, devices: int = 1, starts: int = 3, *, adopt: bool = False
    ) -> AsyncIterator[SlotFleet]:
        place = self.folder.parent / self.run
        confirming = asyncio.create_task(self._confirm())
        try:
            async with self.backend().resources(
                place, self.notices.append, adopt=adopt
            ) as resources:
                adopted = await resources.living() if adopt else ()
                order = self.order(devices, starts, adopted)
                async with resources.fleet(order, self.facts.put_nowait) as fleet:
                    yield fleet
        finally:
            confirming.cancel()

    async def _confirm(self) -> None:
        """As kubelets do, once the containers of a deleted Pod have ended."""
        while True:
            await asyncio.sleep(0.1)
            for pod in await self.pods():
                gone = pod["metadata"].get("deletionTimestamp")
                if gone and pod["spec"].get("nodeName") not in self.dead_nodes:
                    await self.api.delete(PODS, pod["metadata"]["name"], 0)

    async def pods(self) -> list[Json]:
        try:
            return (await self.api.listed(PODS, names.run_selector(self.run)))[0]
        except Exception as error:  # noqa: BLE001 - a test may have taken the API server away
            self.notices.append(f"by hand: {error}")
            return []

    async def made(self, device: str) -> str:
        """The name of this device's Pod, once it is there."""
        name = names.device_object(self.run, device)
        async with asyncio.timeout(PATIENCE_S):
            while name not in {pod["metadata"]["name"] for pod in await self.pods()}:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return name

    async def bound(self, device: str, node: str = "node-x") -> str:
        name = await self.made(device)
        await self.bind(name, node)
        return name

    async def bind(self, name: str, node: str = "node-x") -> None:
        body = {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }  # fmt: skip
        await self.api.create(ObjectKind(PODS.api, f"pods/{name}/binding"), body)

    async def running(self, device: str, node: str = "node-x") -> str:
        name = await self.bound(device, node)
        await self.write(name, status())
        return name

    async def write(self, name: str, state: Json) -> None:
        await self.api.patch(PODS, name, {"status": state}, "status")

    async def fact(self) -> DeviceFact:
        return await asyncio.wait_for(self.facts.get(), PATIENCE_S)


@asynccontextmanager
async def pods_by_hand(cluster: Cluster, folder: Path) -> AsyncIterator[PodsByHand]:
    """Nothing of the run is in the cluster afterwards."""
    access = kubeconfig_access(kubeconfig=cluster.kubeconfig)
    run = f"run-{uuid.uuid4().hex[:8]}"
    spec = {
        "plan": "0" * 64, "profile": PROFILE, "image": IMAGE, "workerImage": IMAGE,
        "agent": "reference", "episodes": 1, "version": "0.1.0",
    }  # fmt: skip
    body = {
        "apiVersion": "emufarm.dev/v1alpha1", "kind": "FarmRun", "metadata": {"name": run},
        "spec": spec,
    }  # fmt: skip
    async with KubernetesApi(access, NAMESPACE) as api:
        made = await api.create(FARM_RUNS, body)
        owner = {
            "apiVersion": made["apiVersion"], "kind": made["kind"], "name": run,
            "uid": made["metadata"]["uid"], "controller": True, "blockOwnerDeletion": False,
        }  # fmt: skip
        template = yaml.safe_load(TEMPLATE.read_text())["template"]
        hand = PodsByHand(api, access, folder / "work", owner, run, template)
        yield hand
        assert await hand.pods() == []
        await api.delete(FARM_RUNS, run)
