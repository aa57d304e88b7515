"""Bakes a built device image in containers, and proves what was baked.

    run the built image -> set it up, save snapshots (`emufarm device bake` beside it) -> commit it
    run what was committed -> prove it (`emufarm device prove` beside it)

The proof checks a phone against the lock. No tag is given here: the caller removes an image that is
not proven. The phone's network has loopback only, so that no update and no real clock gets into a
snapshot.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..events.notify import Notify
from ..files import json_bytes
from ..fleet.container_layout import CONTROL_PORT, CONTROL_TOKEN, DEVICE_DISK, GIVEN_FOLDER
from ..fleet.docker import containers, images
from ..fleet.docker.containers import ContainerLimits, ContainerSpec, Mount
from ..fleet.docker.engine import Engine, EngineRefused
from ..fleet.docker.images import ImageFailed
from ..pins.image_contents import ImageContents
from ..pins.image_lock import IMAGE_FILE, Container, ImageLock
from ..pins.profile import FILE, Profile
from .build_context import SDK_FILE, SYSTEM_IMAGE_FILE, tag
from .cleanup import container_labels, image_labels
from .docker_check import content_labels, contents_of, mismatches
from .docker_job import GIVEN, GivenFiles, JobResult, last_lines, read, running, wait_for_end

BOOT_S, RESUME_S = 600.0, 180.0  # cold; from a snapshot
WORK_S = 1800.0  # set-up, rest and saves after the boot
END_S = 120.0  # from the console's kill to the container's end
LOG = f"{DEVICE_DISK}/emulator.log"
_WORKER = ContainerLimits(cpus=1.0, memory_mb=1024, pids=128)


@dataclass(frozen=True)
class DockerBaker:
    """The engine, images and time limits of one bake."""

    engine: Engine
    profile: Profile
    worker: str  # the worker image's id
    lock_file: Path  # the build lock, which the caller holds
    notify: Notify
    resume_s: float = RESUME_S

    @property
    def labels(self) -> dict[str, str]:
        return container_labels(self.lock_file)


def bake(baker: DockerBaker, built: str, digest: str, apks: Mapping[str, Path]) -> ImageLock:
    """Bake and commit an image, and return its lock; it is not proven yet. ImageFailed says why."""
    engine, profile = baker.engine, baker.profile
    id, phone = _commit_baked(baker, built, apks)
    contents = contents_of(engine, id, baker.labels, baker.notify)
    _require_unchanged(profile, contents)
    lock = ImageLock(
        digest=digest,
        profile=profile.name,
        profile_digest=profile.digest,
        avd=contents.avd,
        snapshot=profile.snapshot,
        boot_id=phone["boot_id"],
        nonce=phone["nonce"],
        fingerprint=phone["fingerprint"],
        emulator_version=phone["emulator_version"],
        adb_version=phone["adb_version"],
        system_image=contents.system_image,
        config_ini=contents.config_ini,
        config_sha256=hashlib.sha256(contents.config_ini.encode()).hexdigest(),
        snapshot_sha256=contents.snapshots[profile.snapshot],
        baked_ts_ms=time.time_ns() // 1_000_000,
        container=Container(
            image=id,
            tag=tag(profile),
            sdk_sha256=contents.sdk_sha256,
            snapshots=contents.snapshots,
            host_cpu=phone["host_cpu"],
            pushed={},
        ),
    )
    _require_labelled(engine, lock)
    return lock


def _commit_baked(
    baker: DockerBaker, built: str, apks: Mapping[str, Path]
) -> tuple[str, dict[str, str]]:
    """The id of the committed image, and the phone's facts for its lock."""
    engine, profile = baker.engine, baker.profile
    baker.notify(f"baking {profile.name}: booting a phone cold")
    with _phone(baker, built, "--bake", writable=True) as (phone, secret):
        given: dict[str, bytes | Path] = {
            **secret,
            f"images/{profile.name}/{FILE}": json_bytes(profile.model_dump(mode="json")),
            **{f"apks/{package}.apk": path for package, path in apks.items()},
        }
        command = ("bake", profile.name, "--apks", f"{GIVEN_FOLDER}/apks")
        result = _run_beside(baker, phone, command, given, BOOT_S)
        if result.code != 0:
            raise ImageFailed(f"{profile.name} was not baked: {result.why}")
        try:
            facts: dict[str, str] = json.loads(result.printed)
        except ValueError as error:
            text = f"the bake printed {result.printed[:200]!r}, which is no JSON"
            raise ImageFailed(text) from error
        _require_saved(baker, phone)
        baker.notify("committing the saved phone")
        records = (read(engine, phone, path) for path in (SYSTEM_IMAGE_FILE, SDK_FILE))
        labels = content_labels(*(json.loads(record) for record in records))
        id = images.commit(engine, phone, {**image_labels(baker.lock_file), **labels})
    return id, facts


def prove(baker: DockerBaker, lock: ImageLock) -> None:
    """Check that a new container of the image is the phone that was baked; ImageFailed says what
    differs."""
    assert lock.container is not None
    baker.notify(f"proving {lock.profile}: starting a new container from {lock.snapshot}")
    with _phone(baker, lock.container.image) as (phone, secret):
        given = {**secret, IMAGE_FILE: json_bytes(lock.as_json())}
        command = ("prove", "--lock", f"{GIVEN_FOLDER}/{IMAGE_FILE}")
        result = _run_beside(baker, phone, command, given, baker.resume_s)
        if result.code != 0:
            raise ImageFailed(f"the image of {lock.profile} is not proven: {result.why}")


@contextmanager
def _phone(
    baker: DockerBaker, image: str, *command: str, writable: bool = False
) -> Iterator[tuple[str, dict[str, bytes]]]:
    """A running device, and the file with the token for its supervisor."""
    resources = baker.profile.resources
    # A run keeps the private AVD in a volume; a bake needs it in the container that is committed.
    mounts = (GIVEN,) if writable else (GIVEN, Mount(DEVICE_DISK, volume=True))
    spec = ContainerSpec(
        name=f"emufarm-bake-{baker.profile.name}-phone-{secrets.token_hex(4)}",
        image=image,
        command=command,
        labels=baker.labels,
        network="none",
        limits=ContainerLimits(resources.cpus, resources.memory_mb, resources.pids),
        mounts=mounts,
        tmpfs=("/tmp",),
        kvm=baker.profile.kvm,
        writable=writable,
    )
    secret = {CONTROL_TOKEN: secrets.token_urlsafe(24).encode()}
    with running(baker.engine, spec, secret) as phone:
        yield phone, secret


def _run_beside(
    baker: DockerBaker, phone: str, command: tuple[str, ...], given: GivenFiles, boot_s: float
) -> JobResult:
    """Run `emufarm device ...` in the phone's network, and return its result."""
    engine, token = baker.engine, f"{GIVEN_FOLDER}/{CONTROL_TOKEN}"
    access = ("--control-port", str(CONTROL_PORT), "--control-token-file", token)
    spec = ContainerSpec(
        name=f"emufarm-bake-{baker.profile.name}-{command[0]}-{secrets.token_hex(4)}",
        image=baker.worker,
        command=("device", *command, *access, "--boot", f"{boot_s:g}"),
        labels=baker.labels,
        network=f"container:{phone}",
        limits=_WORKER,
        env={"EMUFARM_IMAGES": f"{GIVEN_FOLDER}/images"},
        mounts=(GIVEN,),
        tmpfs=("/tmp",),
    )

    def require_alive() -> None:
        state = containers.inspect(engine, phone)
        if state.exit_code:  # 0 is an end on request
            killed = ", out of memory" if state.oom_killed else ""
            raise ImageFailed(
                f"the phone of {baker.profile.name} ended with exit code {state.exit_code}"
                f"{killed}; its last lines: {last_lines(engine, phone, LOG)}"
            )

    try:
        with running(engine, spec, given) as worker:
            result = wait_for_end(
                engine, worker, command[0], boot_s + WORK_S, baker.notify, require_alive
            )
    except EngineRefused:
        require_alive()  # no container can join the network of a phone that has ended
        raise
    if result is None:
        raise ImageFailed(f"`emufarm device {command[0]}` took more than {boot_s + WORK_S:g} s")
    if result.code != 0:
        require_alive()  # a phone that has ended is the better reason
    return result


def _require_saved(baker: DockerBaker, phone: str) -> None:
    """Wait for the device to end, and check that it reports the saved AVD."""
    result = wait_for_end(baker.engine, phone, "switching off", END_S, baker.notify)
    if result is None:
        raise ImageFailed(f"the phone did not end within {END_S:g} s of its console's kill")
    if result.code != 0 or '"baked"' not in result.printed:
        raise ImageFailed(
            f"the phone did not save its AVD, exit code {result.code}; its last lines: "
            f"{last_lines(baker.engine, phone)}"
        )


def _require_unchanged(profile: Profile, contents: ImageContents) -> None:
    """The SDK is the one that the build recorded, and every snapshot of the profile is there."""
    if contents.system_image != contents.claimed_system_image:
        raise ImageFailed("the system image changed while it was baked")
    if contents.sdk_sha256 != contents.claimed_sdk_sha256:
        raise ImageFailed("the SDK changed while the image was baked")
    missing = [one.tag for one in profile.baked if one.tag not in contents.snapshots]
    if missing:
        raise ImageFailed(f"the committed image lacks the snapshot {', '.join(missing)}")


def _require_labelled(engine: Engine, lock: ImageLock) -> None:
    """The image's labels agree with its lock."""
    assert lock.container is not None
    found = images.image(engine, lock.container.image)
    if found is None:
        raise ImageFailed(f"the engine has lost {lock.container.image}, which it committed")
    if wrong := mismatches(lock, found):
        raise ImageFailed(f"the committed image is not {lock.profile}: {'; '.join(wrong)}")
