"""Starts a run on a cluster: its objects, its coordinator, and the documents that it is sent.

Whatever fails on the way, or a Ctrl-C, leaves nothing of the run in the cluster.
"""

from __future__ import annotations

import asyncio
import copy
import secrets
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import __version__
from ...agent.spec import check_backend, image_of
from ...coordinator.client import CoordinatorAway
from ...coordinator.credentials import Secrets
from ...coordinator.follow import AdminClient, AdminRefused
from ...errors import EmufarmError, UsageError
from ...events.notify import Notify
from ...files import json_bytes, write_atomically
from ...fleet.kubernetes.api import SECRETS, ClusterAway, ClusterRefused, Json
from ...fleet.kubernetes.farm_run import FARM_RUNS, FarmRunSpec, owner_reference
from ...fleet.kubernetes.pod_status import Waiting
from ...fleet.kubernetes.run_objects import (
    FARM,
    JOBS,
    METRICS_PORT,
    POLICIES,
    PORT,
    SECRETS_FOLDER,
    SERVICES,
    TEMPLATES,
    VOLUMES,
    Opening,
    RunObjects,
)
from ...outcome import Cause
from ...pins.agent_card import AgentCard
from ...pins.image_lock import IMAGE_FILE, BadLock, ImageLock, read_lock
from ...pins.profile import FILE as PROFILE_FILE
from ...pins.profile import Profile, images_folder
from ...plan.plan import Plan
from ...settings import RunSettings
from ..documents import write_documents
from ..job import Job
from . import documents
from .coordinate import PodArguments
from .options import ClusterOptions, openings
from .reach import ClusterRun, FarmNamespace, refused

NOTICE_S = 10.0  # a coordinator that does not answer for longer is worth a sentence
LOOK_S = 0.5
MAKER = "emufarm.dev/maker"  # the annotation by which a command knows its own FarmRun
# How long a Pod may take to start: a later coordinator keeps what the first one was told.
PENDING = "emufarm.dev/pending-timeout"
_DELETE_TRIES = 5


@dataclass(frozen=True)
class NewRun:
    """A run that is about to begin."""

    folder: Path
    plan: Plan
    settings: RunSettings
    profile: Profile
    devices: int
    cases: Path
    options: ClusterOptions
    card: AgentCard | None = None

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass(frozen=True)
class PushedImages:
    """A lock, and the images that a cluster pulls, by digest."""

    lock: ImageLock
    device: str
    worker: str


def pushed_images(profile: Profile) -> PushedImages:
    """UsageError where the profile's image is not in a registry, or is not the profile's."""
    path = images_folder() / profile.name / IMAGE_FILE
    advice = f"`emufarm image push {profile.name} REGISTRY/NAME` pushes both images"
    try:
        lock = read_lock(path)
    except BadLock as error:
        raise UsageError(f"{profile.name} was never baked and pushed: {error}; {advice}") from error
    if lock.profile_digest != profile.digest:
        raise UsageError(
            f"{path} is of the profile {lock.profile_digest[:12]}, which is {profile.digest[:12]} "
            f"now: bake it again, and {advice}"
        )
    container = lock.container
    if container is None or not container.pushed or not container.worker_pushed:
        raise UsageError(f"the image of {profile.name} is in no registry: {advice}")
    return PushedImages(lock, _by_digest(container.pushed), _by_digest(container.worker_pushed))


def _by_digest(pushed: dict[str, str]) -> str:
    """The one that was pushed last; a pushed name has a tag."""
    name, digest = list(pushed.items())[-1]
    return f"{name.rpartition(':')[0]}@{digest}"


async def start(farm: FarmNamespace, new: NewRun, notify: Notify) -> None:
    """Until its coordinator has all documents. UsageError where the request cannot work, another
    EmufarmError where the cluster did not start it in time."""
    check_backend(new.plan.agent, "kubernetes")
    new.options.check(new.plan.agent)
    ways = await asyncio.to_thread(openings, new.plan.agent, new.options.agent_egress)
    images = pushed_images(new.profile)
    run = farm.run(new.name)
    templates = await _templates(run, new, ways)
    await require_secret(run, new.options.agent_secret)
    maker, there = secrets.token_hex(8), new.folder.exists()
    try:
        farm_run = await _make_farm_run(run, new, images, maker)
        await _make_objects(run, new, farm_run, templates, images, ways)
        _write_folder(run, new, farm_run, templates, images)
        await _send_documents(run, new, notify)
    except BaseException:
        await _undo(run, maker, notify)
        if not there:
            shutil.rmtree(new.folder, ignore_errors=True)
        raise


async def _templates(run: ClusterRun, new: NewRun, ways: Sequence[Opening]) -> dict[str, Json]:
    """The cluster's PodTemplates as they are now, with this run's ways out in them."""
    found: dict[str, Json] = {}
    for name in (documents.DEVICE, documents.AGENT, documents.COORDINATOR):
        try:
            template = await run.api.get(TEMPLATES, name)
        except ClusterRefused as error:
            raise refused(error, run.farm.name) from error
        if template is None:
            raise UsageError(
                f"the namespace {run.farm.name} has no PodTemplate {name}: apply "
                "k8s/overlays/sim or k8s/overlays/kvm (docs/kubernetes.md)"
            )
        found[name] = copy.deepcopy(template["template"])
    in_image = bool(image_of(new.plan.agent))
    spec: dict[str, Any] = found[documents.AGENT if in_image else documents.DEVICE]["spec"]
    aliases = [alias for way in ways for alias in way.host_aliases]
    if aliases:
        spec["hostAliases"] = [*(spec.get("hostAliases") or []), *aliases]
    if new.options.agent_secret:
        for container in spec["containers"]:
            known = container.get("envFrom") or []
            container["envFrom"] = [*known, {"secretRef": {"name": new.options.agent_secret}}]
    return found


async def require_secret(run: ClusterRun, name: str) -> None:
    """UsageError where the agent's variables are not there: no agent could start without them."""
    if not name:
        return
    try:
        found = await run.api.get(SECRETS, name)
    except ClusterRefused as error:
        raise refused(error, run.farm.name) from error
    if found is None:
        raise UsageError(
            f"--agent-secret {name}: the namespace {run.farm.name} has no such Secret; `kubectl "
            f"create secret generic {name} -n {run.farm.name} --from-literal=NAME=...` makes it"
        )


async def _make_farm_run(run: ClusterRun, new: NewRun, images: PushedImages, maker: str) -> Json:
    spec = FarmRunSpec(
        plan=new.plan.digest, profile=new.profile.name, image=images.device,
        worker_image=images.worker, agent=new.plan.agent, episodes=len(new.plan.episodes),
        version=__version__, devices=min(new.devices, len(new.plan.episodes)),
        keep_s=new.options.keep_s,
    )  # fmt: skip
    body = spec.body(run.name)
    body["metadata"]["annotations"] = {MAKER: maker, PENDING: f"{new.options.pending_s:g}"}
    try:
        return await run.api.create(FARM_RUNS, body)
    except ClusterRefused as error:
        if error.exists:
            raise UsageError(
                f"the namespace {run.farm.name} has a run {run.name} already: follow it with "
                f"`{run.command('runs watch')}`, or choose another name with --run"
            ) from error
        raise refused(error, run.farm.name) from error


async def _make_objects(
    run: ClusterRun, new: NewRun, farm_run: Json, templates: dict[str, Json],
    images: PushedImages, ways: Sequence[Opening],
) -> None:  # fmt: skip
    objects = RunObjects(run.name, owner_reference(farm_run))
    to = "agent" if image_of(new.plan.agent) else "device"
    options = new.options
    try:
        await run.api.create(SECRETS, objects.secret(Secrets.new()))
        service = await run.api.create(SERVICES, objects.service())
        volume = objects.volume(
            options.storage, options.storage_class, shared=options.shared_storage
        )
        await run.api.create(VOLUMES, volume)
        for policy in objects.policies(ways, to):
            await run.api.create(POLICIES, policy)
        words = coordinator_arguments(run.name, service, options.pending_s).words()
        job = objects.job(templates[documents.COORDINATOR], images.worker, words)
        await run.api.create(JOBS, job)
    except ClusterRefused as error:
        raise refused(error, run.farm.name) from error


def coordinator_arguments(run: str, service: Json, pending_s: float) -> PodArguments:
    address = str(service["spec"]["clusterIP"])
    host = f"[{address}]" if ":" in address else address
    return PodArguments(
        run, f"http://{host}:{PORT}", Path(FARM), Path(SECRETS_FOLDER), PORT, pending_s,
        metrics_port=METRICS_PORT,
    )  # fmt: skip


def _write_folder(
    run: ClusterRun, new: NewRun, farm_run: Json, templates: dict[str, Json], images: PushedImages
) -> None:
    """The run's folder on this machine, from which its documents are sent."""
    profile_file = images_folder() / new.profile.name / PROFILE_FILE
    text = profile_file.read_text("utf-8")
    backend = documents.cluster_backend(
        run.farm.access, farm_run, templates, images.lock, new.profile, text, new.options.pending_s
    )
    job = Job(new.folder, new.plan, new.settings, new.profile, backend, new.devices)
    new.folder.mkdir(parents=True, exist_ok=True)
    write_atomically(new.folder / documents.TEMPLATES, [json_bytes(templates)])
    write_atomically(new.folder / IMAGE_FILE, [json_bytes(images.lock.as_json())])
    write_atomically(new.folder / PROFILE_FILE, [text.encode()])
    write_documents(job, new.cases, new.card)


async def _send_documents(run: ClusterRun, new: NewRun, notify: Notify) -> None:
    with await run.client(away_s=0.0) as client:
        await coordinator_answers(run, client, new.options.pending_s, notify)
    with await run.client(away_s=60.0) as client:
        for name in documents.DOCUMENTS:
            content = await asyncio.to_thread((new.folder / name).read_bytes)
            await asyncio.to_thread(client.send, name, content)


async def coordinator_answers(
    run: ClusterRun, client: AdminClient, pending_s: float, notify: Notify
) -> None:
    """Until it takes documents. UsageError where it never will as the cluster is."""
    since, noticed = time.monotonic(), ""
    while True:
        try:
            state = await asyncio.to_thread(client.intake)
            if state["checked"] and state["trouble"]:
                raise UsageError(str(state["trouble"]))
            if state["checked"]:
                return
            raise CoordinatorAway(f"it does not reach the API server: {state['trouble']}")
        except (AdminRefused, CoordinatorAway) as error:
            # The API server's proxy knows a new Service a moment after it was made.
            if isinstance(error, AdminRefused) and error.status != 404:
                raise UsageError(f"the coordinator cannot be reached: {error}") from error
            why = await _trouble(run, error)
            waited = time.monotonic() - since
            if why.hopeless:
                raise UsageError(f"the coordinator cannot start: {why.text}") from error
            if waited > pending_s:
                text = f"the coordinator did not start within {pending_s:.0f} s: {why.text}"
                raise EmufarmError(text) from error
            if why.queued:
                since = time.monotonic()
            if waited > NOTICE_S and why.text != noticed:
                noticed = why.text
                notify(f"the coordinator waits: {why.text}")
        await asyncio.sleep(LOOK_S)


async def _trouble(run: ClusterRun, away: EmufarmError) -> Waiting:
    try:
        found = await run.coordinator_trouble()
    except (ClusterAway, ClusterRefused) as error:
        return Waiting(Cause.UNKNOWN, str(error))
    return found or Waiting(Cause.UNKNOWN, str(away))


async def _undo(run: ClusterRun, maker: str, notify: Notify) -> None:
    """The FarmRun owns all that was made. It may have been made though no answer came, and one of
    the same name may be somebody else's."""
    for _ in range(_DELETE_TRIES):
        try:
            found = await run.find() or {"metadata": {}}
            if (found["metadata"].get("annotations") or {}).get(MAKER) == maker:
                await run.delete()
            return
        except ClusterAway:
            await asyncio.sleep(1.0)
        except (ClusterRefused, UsageError) as error:
            notify(f"the FarmRun {run.name} stays in the cluster: {error}")
            return
    notify(f"the FarmRun {run.name} stays in the cluster: delete it with kubectl")
