"""The documents that a run on a cluster begins with, and the job that is read from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...agent.spec import image_of
from ...coordinator import durations
from ...errors import UsageError
from ...files import read_json
from ...fleet.docker.agents import AgentImage
from ...fleet.kubernetes.access import ClusterAccess
from ...fleet.kubernetes.backend import KubernetesBackend
from ...fleet.kubernetes.farm_run import owner_reference
from ...fleet.kubernetes.pod_spec import AgentPodImage
from ...pins.image_lock import IMAGE_FILE, ImageLock, read_lock
from ...pins.profile import FILE as PROFILE_FILE
from ...pins.profile import Profile
from ...pins.run_manifest import CAPABILITIES, MANIFEST
from ...pins.strict_yaml import read_model
from ...plan.store import FILE as PLAN
from ...plan.store import read_plan
from ..backends import ChosenBackend
from ..job import Job
from ..recorded import recorded

TEMPLATES = "templates.json"  # the cluster's PodTemplates, as they were when the run was made
DEVICE, AGENT, COORDINATOR = "emufarm-device", "emufarm-agent", "emufarm-coordinator"
# In the order in which they are sent; the plan is the last.
DOCUMENTS = (
    MANIFEST, CAPABILITIES, durations.FILE, TEMPLATES, IMAGE_FILE, PROFILE_FILE, PLAN,
)  # fmt: skip


def cluster_backend(
    access: ClusterAccess,
    farm_run: Mapping[str, Any],
    templates: Mapping[str, Any],
    lock: ImageLock,
    profile: Profile,
    profile_text: str,
    pending_s: float,
) -> ChosenBackend:
    """For both ends: the command line describes with it what the coordinator runs."""
    spec, about = farm_run["spec"], farm_run["metadata"]
    image, agent = image_of(spec["agent"]), None
    if image:
        agent = AgentImage(image, image.rpartition("@")[2])
    backend = KubernetesBackend(
        access=access,
        namespace=about["namespace"],
        owner=owner_reference(farm_run),
        template=templates[DEVICE],
        device_image=spec["image"],
        worker_image=spec["workerImage"],
        lock=lock,
        profile=profile,
        profile_text=profile_text,
        pending_s=pending_s,
        agent=AgentPodImage(image, templates[AGENT]) if image else None,
    )
    return ChosenBackend(backend, lock, lock.adb_version, ("emulator", *profile.emulator), agent)


def read_job(
    folder: Path, access: ClusterAccess, farm_run: Mapping[str, Any], pending_s: float
) -> Job:
    """UsageError where the documents are not those of the FarmRun."""
    plan = read_plan(folder / PLAN)
    wanted = farm_run["spec"]["plan"]
    if plan.digest != wanted:
        raise UsageError(f"{folder} has the plan {plan.digest}, and its FarmRun names {wanted}")
    path = folder / PROFILE_FILE
    profile = read_model(path, Profile, "a profile")
    if profile.digest != plan.profile_digest:
        raise UsageError(f"{path} is not the profile that was planned with")
    lock = read_lock(folder / IMAGE_FILE)
    chosen = cluster_backend(
        access, farm_run, read_json(folder / TEMPLATES), lock, profile,
        path.read_text("utf-8"), pending_s,
    )  # fmt: skip
    settings = recorded(folder, plan).settings
    return Job(folder, plan, settings, profile, chosen, int(farm_run["spec"]["devices"]))
