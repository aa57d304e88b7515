"""The farm on a real Kubernetes cluster, as a user with the Role `emufarm-user` has it."""

from __future__ import annotations

import base64
import json
import queue
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from orchestrator.coordinator.credentials import WorkerKey
from orchestrator.coordinator.messages import TOKEN_HEADER
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    LeaseGranted,
    LeaseReturned,
)
from orchestrator.fleet.kubernetes import names
from orchestrator.fleet.kubernetes.api import Json
from orchestrator.fleet.kubernetes.farm_run import FarmRunSpec, owner_reference
from orchestrator.fleet.kubernetes.run_objects import KEY, PORT
from orchestrator.pins.image_lock import IMAGE_FILE, ImageLock, read_lock
from tests.conftest import NOBODY
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.docked import PROFILE
from tests.e2e.engine import Engine
from tests.e2e.thinker import Thinker
from tests.fleet import agent_farm
from tests.run.conftest import BUILD_S, PATIENCE_S, ROOT, Farm, ended

OVERLAYS = ROOT / "k8s" / "overlays"
SIM, SHARED = "sim", "sim-shared-evidence"
NAMESPACE, USER = "emufarm", "tester"
SOON_S = 60.0  # what keeps a run from starting is said by then
# Prints the answer's status and body.
ASK = """
import json, sys, urllib.error, urllib.request
url, header, secret, body = sys.argv[1:]
asked = urllib.request.Request(url, body.encode(), {header: secret})
try:
    answer = urllib.request.urlopen(asked, timeout=20)
except urllib.error.HTTPError as error:
    answer = error
print(json.dumps([answer.status, answer.read().decode()]))
"""
KINDS = "pods,jobs,services,secrets,persistentvolumeclaims,networkpolicies"


@dataclass(frozen=True)
class PodLife:
    """What another Pod, or another life of a container in it, has not."""

    uid: str
    restarts: dict[str, int]  # of each container

    @classmethod
    def of(cls, pod: Json) -> PodLife:
        status = pod["status"]
        parts = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
        return cls(pod["metadata"]["uid"], {one["name"]: one["restartCount"] for one in parts})


@dataclass(frozen=True)
class Clustered:
    """`emufarm --backend kubernetes`, its runs, and the cluster they are on."""

    farm: Farm
    cluster: Cluster  # as its administrator

    def run(self, folder: str, *words: str, name: str) -> tuple[int, str]:
        return ended(self.start(folder, *words, name=name))

    def start(self, folder: str, *words: str, name: str) -> subprocess.Popen[str]:
        place = ("--runs", str(self.farm.runs), "--run", name)
        return self.farm.start("run", folder, "--backend", "kubernetes", *place, *words)

    def command(self, *words: str) -> tuple[int, str]:
        return ended(self.farm.start(*words))

    def proves_itself(self, name: str) -> None:
        for command in ("verify", "audit"):
            code, output = self.command(command, str(self.farm.runs / name))
            assert code == 0, output

    def farm_run(self, name: str) -> Json:
        found: Json = self.cluster.get("fr", name, "-n", NAMESPACE)
        return found

    def kubectl(self, *words: str) -> str:
        """In the farm's namespace."""
        return self.cluster.kubectl("-n", NAMESPACE, *words).stdout

    def delete(self, name: str) -> None:
        """As a user does; and nothing is left of it."""
        self.kubectl("delete", "fr", name)
        self.cluster.wait(f"the end of all of {name}", lambda: self.left(name) == [])

    def in_mid_attempt(
        self, process: subprocess.Popen[str], name: str, thinker: Thinker, count: int = 2
    ) -> LeaseGranted:
        """The last lease, once so many workers wait for the agent."""
        deadline, waiting = time.monotonic() + PATIENCE_S, 0
        while waiting < count or len(self.open_leases(name)) < count:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline, "the agents were never asked"
            with suppress(queue.Empty):
                thinker.thinking.get(timeout=0.2)
                waiting += 1
        return self.open_leases(name)[-1]

    def open_leases(self, name: str) -> list[LeaseGranted]:
        """As far as they were pulled."""
        if not (self.farm.runs / name / "journal").is_dir():
            return []
        leases: dict[tuple[str, int], LeaseGranted] = {}
        for event in self.farm.events(name):
            if isinstance(event, LeaseGranted):
                leases[event.episode, event.attempt] = event
            elif isinstance(event, AttemptCommitted | AttemptLost | LeaseReturned):
                leases.pop((event.episode, event.attempt), None)
        return list(leases.values())

    def pod(self, name: str, device: str) -> Json:
        found: Json = self.cluster.get("pod", names.device_object(name, device), "-n", NAMESPACE)
        return found

    def coordinator(self, name: str) -> Json:
        """Its latest Pod."""
        selector = names.run_selector(name, "coordinator")
        found = self.cluster.get("pods", "-n", NAMESPACE, "-l", selector)["items"]
        living = [pod for pod in found if not pod["metadata"].get("deletionTimestamp")]
        return max(living, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))

    def told(self, name: str, reason: str, message: str) -> None:
        """Waits for an event of its FarmRun whose message begins so."""
        of = f"involvedObject.kind=FarmRun,involvedObject.name={name},reason={reason}"

        def is_there() -> bool:
            found = self.cluster.get("events", "-n", NAMESPACE, "--field-selector", of)["items"]
            return any(str(one["message"]).startswith(message) for one in found)

        self.cluster.wait(f"the event {reason}", is_there)

    def device_pods(self, name: str) -> dict[str, PodLife]:
        """By device."""
        found = self.cluster.get("pods", "-n", NAMESPACE, "-l", names.run_selector(name, "device"))
        return {pod["metadata"]["labels"][names.DEVICE]: PodLife.of(pod) for pod in found["items"]}

    def told_to_go(self, name: str) -> int:
        """How many device Pods end."""
        found = self.cluster.get("pods", "-n", NAMESPACE, "-l", names.run_selector(name, "device"))
        return sum("deletionTimestamp" in pod["metadata"] for pod in found["items"])

    def ask_for_lease(self, coordinator: Json, device: str) -> tuple[int, str]:
        """Status and body of this Pod's answer, whichever Pod the run's Service leads to."""
        secret = self.cluster.get("secret", names.run_object(run_of(coordinator)), "-n", NAMESPACE)
        key = WorkerKey(base64.b64decode(secret["data"][KEY]).decode())
        url = f"http://{coordinator['status']['podIP']}:{PORT}/v1/lease"
        body = json.dumps({"worker": "test", "request_id": "test"})
        answer = self.cluster.in_control(
            sys.executable, "-c", ASK, url, TOKEN_HEADER, key.secret(device), body
        )
        status, said = json.loads(answer)
        return int(status), str(said)

    def run_folder(self, name: str) -> Path:
        """On its volume, as this machine sees it."""
        return self._volume(names.run_object(name)) / name

    def in_pod(self, pod: Json, container: str, program: str, *words: str) -> str:
        """What a Python program prints in there."""
        about = pod["metadata"]
        command = ("exec", about["name"], "-n", about["namespace"], "-c", container)
        return self.cluster.kubectl(*command, "--", "python3", "-c", program, *words).stdout

    def reached(self, pod: Json, container: str, *places: str) -> list[str]:
        """Those of the places that a program in there reaches, by any way."""
        found = json.loads(self.in_pod(pod, container, agent_farm.TRY, *places))
        ways = [way for way, how in found.items() if how == "reached"]
        return list(dict.fromkeys(way.partition(" ")[0] for way in ways))

    def left(self, run: str) -> list[str]:
        """All that the cluster has of a run, as KIND/NAME; its FarmRun is not counted."""
        return left(self.cluster, run)

    @property
    def lock_file(self) -> Path:
        return Path(self.farm.env["EMUFARM_IMAGES"]) / PROFILE / IMAGE_FILE

    @property
    def lock(self) -> ImageLock:
        return read_lock(self.lock_file)

    @property
    def images(self) -> tuple[str, str]:
        """The device's and the worker's, by digest, as Pods name them."""
        container = self.lock.container
        assert container is not None
        (device,), (worker,) = container.pushed.items(), container.worker_pushed.items()
        return by_digest(*device), by_digest(*worker)

    def shared_volume(self) -> Path:
        """The folder of this machine that is the shared staging."""
        return self._volume("emufarm-staging")

    def _volume(self, claim: str) -> Path:
        bound = self.cluster.get("pvc", claim, "-n", NAMESPACE)["spec"]["volumeName"]
        return Path(self.cluster.get("pv", bound)["spec"]["hostPath"]["path"])

    @contextmanager
    def sharing_evidence(self) -> Iterator[None]:
        """Runs that are made meanwhile have the overlay `sim-shared-evidence`."""
        apply_farm(self.cluster, SHARED)
        try:
            yield
        finally:
            apply_farm(self.cluster, SIM)


def a_clustered(farm: Farm, place: Path, cluster: Cluster, engine: Engine) -> Clustered:
    """Bakes, pushes and applies what a user bakes, pushes and applies."""
    shutil.copytree(ROOT / "images", place / "images")
    env = {**engine.env, **farm.env, "EMUFARM_IMAGES": f"{place}/images"}
    building = replace(farm, env={**env, "DOCKER_HOST": engine.host})
    pushed = f"{cluster.registry}/farm/{PROFILE}"
    for words in (("bake", PROFILE), ("push", PROFILE, pushed)):
        code, output = ended(building.start("image", *words), BUILD_S)
        assert code == 0, output
    apply_farm(cluster, SIM)
    kubeconfig = place / "kubeconfig"
    write_kubeconfig(cluster, kubeconfig)
    env = {**env, "KUBECONFIG": str(kubeconfig), "DOCKER_HOST": NOBODY}
    return Clustered(replace(farm, env=env), cluster)


def manifests(cluster: Cluster, overlay: str) -> list[Json]:
    """An overlay's objects."""
    return list(yaml.safe_load_all(cluster.kubectl("kustomize", str(OVERLAYS / overlay)).stdout))


def apply_farm(cluster: Cluster, overlay: str) -> None:
    cluster.apply(*manifests(cluster, overlay))
    crd = "crd/farmruns.emufarm.dev"
    cluster.kubectl("wait", "--for=condition=Established", crd, "--timeout=60s")


@contextmanager
def changed_template(clustered: Clustered, component: str, **spec: Any) -> Iterator[None]:
    objects = manifests(clustered.cluster, SIM)
    for one in objects:
        if one["kind"] == "PodTemplate" and one["metadata"]["name"] == f"emufarm-{component}":
            one["template"]["spec"] |= spec
            clustered.cluster.apply(one)
    try:
        yield
    finally:
        template = f"emufarm-{component}"
        clustered.kubectl("delete", "podtemplate", template)
        apply_farm(clustered.cluster, SIM)


def write_kubeconfig(
    cluster: Cluster, path: Path, user: str = USER, role: str = "emufarm-user"
) -> None:
    """Of somebody with this Role and no other."""
    account = {
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": user, "namespace": "default"},
    }  # fmt: skip
    cluster.apply(account)
    bind(cluster, user, role)
    token = cluster.kubectl("create", "token", user, "-n", "default", "--duration=24h").stdout
    config: dict[str, Any] = json.loads(
        cluster.kubectl("config", "view", "--raw", "--flatten", "-o", "json").stdout
    )
    (context,) = config["contexts"]
    context["context"] |= {"user": user, "namespace": NAMESPACE}
    config["users"] = [{"name": user, "user": {"token": token.strip()}}]
    path.write_text(json.dumps(config))
    path.chmod(0o600)


def bind(cluster: Cluster, user: str, role: str) -> None:
    name = user if role == "emufarm-user" else f"{user}-{role}"
    to = ("--role", role, "--serviceaccount", f"default:{user}")
    cluster.kubectl("create", "rolebinding", name, "-n", NAMESPACE, *to)


def run_of(pod: Json) -> str:
    return str(pod["metadata"]["labels"][names.RUN])


def left(cluster: Cluster, run: str) -> list[str]:
    words = ("-n", NAMESPACE, "-l", names.run_selector(run), "-o", "name")
    return sorted(cluster.kubectl("get", KINDS, *words).stdout.split())


def make_farm_run(cluster: Cluster, run: str, device_image: str, worker_image: str) -> Json:
    """A run that nobody coordinates; the reference to it as an owner of Pods."""
    spec = FarmRunSpec(
        plan="0" * 64, profile=PROFILE, image=device_image, worker_image=worker_image,
        agent="reference", episodes=1, version="0.1.0", devices=1,
    )  # fmt: skip
    body = spec.body(run)
    body["metadata"]["namespace"] = NAMESPACE
    cluster.apply(body)
    return owner_reference(cluster.get("farmruns", run, "-n", NAMESPACE))


def by_digest(name: str, digest: str) -> str:
    """A pushed name has a tag."""
    return f"{name.rpartition(':')[0]}@{digest}"
