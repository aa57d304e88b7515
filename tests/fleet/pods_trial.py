"""Fleets of Pods on real nodes whose containers are stand-ins.

Their staging is on a volume that this machine sees, and on that volume a stand-in counts its deeds
and writes what it prints, so that both outlive its Pod.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from orchestrator.fleet.kubernetes import names
from orchestrator.fleet.kubernetes.access import kubeconfig_access
from orchestrator.fleet.kubernetes.api import Json
from orchestrator.fleet.kubernetes.backend import KubernetesBackend
from orchestrator.fleet.kubernetes.pod_status import read_pod
from orchestrator.pins.profile import FILE, images_folder
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.clustered import NAMESPACE, SIM, left, make_farm_run, manifests
from tests.fleet.contract import Trial, until
from tests.fleet.docker_trial import docker, small_profile, stand_in
from tests.pins.a_lock import LOCK

CLAIM = "trial-staging"
OUTPUTS = "outputs"  # a folder of the volume, beside those of runs
PROBE = "import socket; socket.create_connection(('127.0.0.1', 5600), 1)"


@cache
def pushed(cluster: Cluster, program: str, *words: str) -> str:
    """The image of a stand-in in the cluster's registry, by digest."""
    return push(cluster, stand_in(program, *words), "-".join((Path(program).stem, *words)))


def push(cluster: Cluster, image: str, short: str) -> str:
    """An image of the engine's, under this name; by digest."""
    name = f"{cluster.registry}/trial/{short}"
    docker("tag", image, name)
    docker("push", name)
    (digest,) = docker("image", "inspect", "--format", "{{range .RepoDigests}}{{.}} {{end}}",
                       name).split()  # fmt: skip
    return digest


class PodsTrial(Trial):
    leaves = True

    def __init__(self, run: Path, cluster: Cluster, volume: Path) -> None:
        super().__init__(run, run.with_name(f"{run.name}-work"))
        self.cluster = cluster
        self._volume = volume
        images = (pushed(cluster, "stand_in_phone.py", "phone"),) * 2
        self._owner = make_farm_run(cluster, run.name, *images)

    def backend(self, phone: str = "phone") -> KubernetesBackend:
        return KubernetesBackend(
            access=kubeconfig_access(kubeconfig=self.cluster.kubeconfig),
            namespace=NAMESPACE,
            owner=self._owner,
            template=self._template(),
            device_image=pushed(self.cluster, "stand_in_phone.py", phone),
            worker_image=pushed(self.cluster, "stand_in_worker.py"),
            lock=LOCK,
            profile=small_profile(),
            profile_text=(images_folder() / "sim-api34" / FILE).read_text(),
            seal_s=2.0,
        )

    def _template(self) -> Json:
        (template,) = (
            one["template"]
            for one in manifests(self.cluster, SIM)
            if one["kind"] == "PodTemplate" and one["metadata"]["name"] == "emufarm-device"
        )
        spec: Json = template["spec"]
        spec["initContainers"][0]["startupProbe"]["exec"] = {"command": ["python3", "-c", PROBE]}
        spec["volumes"] = [
            {"name": "staging", "persistentVolumeClaim": {"claimName": CLAIM}}
            if volume["name"] == "staging"
            else volume
            for volume in spec["volumes"]
        ]
        worker = spec["containers"][0]
        worker["volumeMounts"].append({"name": "staging", "mountPath": "/trial"})
        worker["env"].append({"name": "TRIAL", "value": f"/trial/{OUTPUTS}/{self.run.name}"})
        return dict(template)

    def output(self, slot: str) -> str:
        path = self._volume / OUTPUTS / self.run.name / f"{slot}.output"
        return path.read_text() if path.exists() else ""

    async def working(self, *devices: str) -> None:
        """Once the kubelet has said so too."""
        await super().working(*devices)
        for device in devices:
            await until(lambda: self._at_work(device.rpartition(".")[0]))  # noqa: B023

    def _at_work(self, slot: str) -> bool:
        view = read_pod(self._pod(slot))
        return view.worker_running and view.device_started

    def kill_worker(self, slot: str) -> None:
        self.cluster.kill_container(self._pod(slot), "worker")

    def kill_device(self, slot: str) -> None:
        self.cluster.kill_container(self._pod(slot), "device")

    def crash_device(self, slot: str) -> None:
        self.cluster.kill_container(self._pod(slot), "device", signal.SIGUSR1)

    def _pod(self, slot: str) -> Json:
        selector = f"{names.run_selector(self.run.name)},{names.SLOT}={slot}"
        (pod,) = self.cluster.get("pods", "-n", NAMESPACE, "-l", selector)["items"]
        return dict(pod)

    def left(self) -> list[str]:
        return left(self.cluster, self.run.name)


@contextmanager
def staging_volume(cluster: Cluster) -> Iterator[Path]:
    """A volume for all trials, as a folder of this machine."""
    claim: Json = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM, "namespace": NAMESPACE},
        "spec": {
            "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}},
        },
    }  # fmt: skip
    cluster.apply(claim)
    words = ("-n", NAMESPACE, "--for=jsonpath={.status.phase}=Bound", f"pvc/{CLAIM}")
    cluster.kubectl("wait", *words, "--timeout=60s")
    bound = cluster.get("pvc", CLAIM, "-n", NAMESPACE)["spec"]["volumeName"]
    yield Path(cluster.get("pv", bound)["spec"]["hostPath"]["path"])
    cluster.kubectl("delete", "pvc", CLAIM, "-n", NAMESPACE)


@contextmanager
def pods_trial(run: Path, cluster: Cluster, volume: Path) -> Iterator[PodsTrial]:
    """Whatever a test does, nothing of it may be in the cluster afterwards."""
    trial = PodsTrial(run, cluster, volume)
    yield trial
    assert trial.left() == []
    cluster.kubectl("delete", "fr", run.name, "-n", NAMESPACE)
