"""The Pods and Secrets of devices and agents: PodTemplates of the cluster, filled in.

Pure. What a template says stays as it is, so that an operator's patches count.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...coordinator.messages import slot_of
from ...errors import UsageError
from ...pins.image_lock import IMAGE_FILE
from ...pins.profile import FILE as PROFILE_FILE
from ...pins.profile import Profile
from ...worker.arguments import WorkerArguments
from ..container_layout import CONTROL_PORT, CONTROL_TOKEN, STAGING
from ..emulator_command import EmulatorCommand
from ..port import FleetOrder
from ..slot import device_numbers
from . import names
from .api import Json
from .pod_status import AGENT, DEVICE, WORKER

GIVEN = Path("/run/worker")  # all that a worker is given
WORKER_TOKEN = "worker.token"
EXIT_FILE = Path("/dev/termination-log")  # the kubelet makes it the worker's last message
# An agent is one program from beginning to end, and nothing inside its Pod says which run this is:
# without a hostname of its own, the name of the Pod would.
_AGENT_LAWS = {
    "hostname": "agent",
    "restartPolicy": "Never",
    "enableServiceLinks": False,
    "automountServiceAccountToken": False,
}


@dataclass(frozen=True)
class AgentPodImage:
    """The image of a run's agent, and what its Pods are made from."""

    image: str  # by digest
    template: Mapping[str, Any]  # of the PodTemplate emufarm-agent

    def other(self, ran: str) -> str:
        """The sentence where its Pod runs another image than was asked for; "" where not."""
        return other_image(AGENT, self.image, ran)


@dataclass(frozen=True)
class PodSettings:
    """What all device Pods of a run have in common."""

    run: str
    owner: Mapping[str, Any]  # the ownerReference to its FarmRun
    template: Mapping[str, Any]  # of a PodTemplate: metadata and spec
    device_image: str  # by digest
    worker_image: str
    profile: Profile
    given: Mapping[str, str]  # file name -> content, of every device's Secret: lock and profile
    order: FleetOrder
    shared: Path | None = None  # where this process sees the workers' staging, if it is a claim

    def pod(self, device: str, avoided: Collection[str] = ()) -> Json:
        """`avoided` are nodes that it must not be on. UsageError where the template lacks a part
        that is filled in."""
        body: Json = copy.deepcopy(dict(self.template))
        try:
            return self._filled(body, device, avoided)
        except (KeyError, StopIteration, TypeError) as error:
            raise _lacking("emufarm-device", error) from error

    def agent_pod(self, agent: AgentPodImage, device: str, name: str) -> Json:
        """For one attempt of this device. UsageError as above."""
        body: Json = copy.deepcopy(dict(agent.template))
        try:
            spec: Json = body["spec"]
            _named(spec["containers"], AGENT)["image"] = agent.image
            metadata = self._metadata(body.get("metadata") or {}, device)
        except (KeyError, TypeError) as error:
            raise _lacking("emufarm-agent", error) from error
        metadata["name"] = name
        metadata["labels"][names.COMPONENT] = AGENT
        return {
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {**spec, **_AGENT_LAWS},
        }  # fmt: skip

    def secret(self, device: str, control_token: str) -> Json:
        tokens = {WORKER_TOKEN: self.order.key.secret(device), CONTROL_TOKEN: control_token}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": self._metadata({}, device),
            "stringData": {**self.given, **tokens},
        }

    def other_images(self, digests: Mapping[str, str]) -> str:
        """The sentence where a container runs another image than was asked for; "" where none."""
        images = ((DEVICE, self.device_image), (WORKER, self.worker_image))
        wrong = (other_image(name, image, digests.get(name, "")) for name, image in images)
        return next(filter(None, wrong), "")

    def staging(self, device: str) -> Path | None:
        """Where this process sees what its worker keeps; None where only its Pod does."""
        return self.shared / self.run / device if self.shared else None

    def _filled(self, body: Json, device: str, avoided: Collection[str]) -> Json:
        spec: Json = body["spec"]
        phone, worker = (
            _named(spec["initContainers"], "device"),
            _named(spec["containers"], "worker"),
        )
        number = device_numbers(device)[0]
        noise = EmulatorCommand((), self.order.noise).for_slot(number)
        phone["image"], worker["image"] = self.device_image, self.worker_image
        phone["args"] = ["--linger", str(self.order.linger_s), "--", *noise]
        worker["args"] = self._arguments(device).words()
        self._give_resources(phone)
        _named(spec["volumes"], "device-disk").setdefault("emptyDir", {}).setdefault(
            "sizeLimit", f"{self._disk_mb}Mi"
        )
        if shares_staging(body):
            # A claim of many devices and runs: a worker must not read another's leases.
            _named(worker["volumeMounts"], "staging")["subPath"] = f"{self.run}/{device}"
        name = names.device_object(self.run, device)
        for volume in ("given-device", "given-worker"):
            secret = _named(spec["volumes"], volume)["secret"]
            secret["secretName"] = name
            for item in secret["items"]:
                item["path"] = item["path"].replace("filled-in", self.profile.name)
        if avoided:
            _avoid(spec, avoided)
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": self._metadata(body.get("metadata") or {}, device),
            "spec": spec,
        }

    def _metadata(self, given: Json, device: str) -> Json:
        own = {names.RUN: self.run, names.SLOT: slot_of(device), names.DEVICE: device}
        return {
            **given,
            "name": names.device_object(self.run, device),
            "labels": {**(given.get("labels") or {}), **own},
            "ownerReferences": [dict(self.owner)],
        }

    @property
    def _disk_mb(self) -> int:
        """Its copy of the AVD, and as much again for what it writes."""
        return 2 * self.profile.resources.disk_mb

    def _give_resources(self, container: Json) -> None:
        """The profile's, the same as requests and limits; a value of the template wins."""
        limits = self.profile.resources
        own = {
            "cpu": f"{math.ceil(limits.cpus * 1000)}m",
            "memory": f"{limits.memory_mb}Mi",
            "ephemeral-storage": f"{self._disk_mb + 256}Mi",
        }
        given = container.setdefault("resources", {})
        for part in ("requests", "limits"):
            given[part] = {**own, **(given.get(part) or {})}

    def _arguments(self, device: str) -> WorkerArguments:
        return WorkerArguments(
            coordinator=self.order.coordinator,
            token_file=GIVEN / WORKER_TOKEN,
            device=device,
            control_port=CONTROL_PORT,
            control_token_file=GIVEN / CONTROL_TOKEN,
            staging=Path(STAGING),
            lock=GIVEN / IMAGE_FILE,
            profile=self.profile.name,
            boot_s=self.order.boot_s,
            away_s=self.order.away_s,
            exit_file=EXIT_FILE,
        )


def other_image(container: str, image: str, ran: str) -> str:
    """The sentence where it runs another image than was asked for, by its digest."""
    wanted = image.rpartition("@")[2]
    if ran in ("", wanted):
        return ""
    return f"pin_mismatch: the {container}'s image is {ran}, and {wanted} was asked for"


def given_files(lock: str, profile: str) -> dict[str, str]:
    """By the names under which a device's Secret has them."""
    return {IMAGE_FILE: lock, PROFILE_FILE: profile}


def _lacking(template: str, error: Exception) -> UsageError:
    return UsageError(f"the PodTemplate {template} lacks {error}: apply k8s/ of this version again")


def shares_staging(template: Mapping[str, Any]) -> bool:
    """Whether workers keep attempts on a claim, which the coordinator mounts too."""
    return _named(template["spec"]["volumes"], "staging").get("emptyDir") is None


def _named(parts: list[Json], name: str) -> Json:
    try:
        return next(part for part in parts if part["name"] == name)
    except StopIteration:
        raise KeyError(name) from None


def _avoid(spec: Json, nodes: Collection[str]) -> None:
    """Added to every term that there is: terms are alternatives. By the nodes' names, of which the
    API takes one in a rule; their label kubernetes.io/hostname may be another."""
    rules = [
        {"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in sorted(nodes)
    ]
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    required = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
    for term in required.setdefault("nodeSelectorTerms", [{}]):
        term["matchFields"] = [*(term.get("matchFields") or []), *rules]
