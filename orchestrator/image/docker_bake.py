"""How does a built image become one that phones start from in a second?

    build -> run it cold -> set up, save (`emufarm device bake` beside it) -> commit
          -> a fresh container of what was committed -> prove it (`emufarm device prove` beside it)

The lock is what the proof was held against. Nothing here gives a tag: what is not proven is removed
by whoever asked, with the containers gone already. The phone is in a network of its own, loopback
alone, so that no update and no clock of the world gets into a snapshot.
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
from ..fleet.docker import containers, images
from ..fleet.docker.containers import ContainerLimits, ContainerSpec, Mount
from ..fleet.docker.engine import Engine, EngineRefused
from ..fleet.docker.images import ImageFailed
from ..pins.files import json_bytes
from ..pins.image_contents import ImageContents
from ..pins.image_lock import IMAGE_FILE, Container, ImageLock
from ..pins.profile import FILE, Profile
from .build_context import SDK_FILE, SYSTEM_IMAGE_FILE, tag
from .cleanup import container_labels, image_labels
from .docker_check import content_labels, contents_of, mismatches
from .docker_job import FOLDER, GIVEN, Files, JobResult, last_lines, read, running, wait_for_end

BOOT_S, RESUME_S = 600.0, 180.0  # cold; from a snapshot
WORK_S = 1800.0  # set-up, rest and saves after the boot
END_S = 120.0  # from the console's kill to the container's end
CONTROL_PORT, TOKEN = 5600, "control.token"
PLACE, LOG = "/var/emu", "/var/emu/emulator.log"
_WORKER = ContainerLimits(cpus=1.0, memory_mb=1024, pids=128)


@dataclass(frozen=True)
class DockerBaker:
    """What an image is baked and proven with."""

    engine: Engine
    profile: Profile
    worker: str  # the worker image's id
    lock_file: Path  # under which all this is done
    notify: Notify
    boot_s: float = BOOT_S
    resume_s: float = RESUME_S

    @property
    def labels(self) -> dict[str, str]:
        return container_labels(self.lock_file)


def bake(baker: DockerBaker, built: str, digest: str, apks: Mapping[str, Path]) -> ImageLock:
    """Commits an image, not yet proven; its lock names it. ImageFailed in one sentence."""
    engine, profile = baker.engine, baker.profile
    id, told = _committed(baker, built, apks)
    held = contents_of(engine, id, baker.labels, baker.notify)
    _require_honest(profile, held)
    lock = ImageLock(
        digest=digest,
        profile=profile.name,
        profile_digest=profile.digest,
        avd=held.avd,
        snapshot=profile.snapshot,
        boot_id=told["boot_id"],
        nonce=told["nonce"],
        fingerprint=told["fingerprint"],
        emulator_version=told["emulator_version"],
        adb_version=told["adb_version"],
        system_image=held.system_image,
        config_ini=held.config_ini,
        config_sha256=hashlib.sha256(held.config_ini.encode()).hexdigest(),
        snapshot_sha256=held.snapshots[profile.snapshot],
        baked_ts_ms=time.time_ns() // 1_000_000,
        container=Container(
            image=id,
            tag=tag(profile),
            sdk_sha256=held.sdk_sha256,
            snapshots=held.snapshots,
            host_cpu=told["host_cpu"],
            pushed={},
        ),
    )
    _require_labelled(engine, lock)
    return lock


def _committed(
    baker: DockerBaker, built: str, apks: Mapping[str, Path]
) -> tuple[str, dict[str, str]]:
    """The id of what was saved, and what the phone told of itself."""
    engine, profile = baker.engine, baker.profile
    baker.notify(f"baking {profile.name}: a phone boots cold")
    with _phone(baker, built, "--bake", writable=True) as (phone, secret):
        given: dict[str, bytes | Path] = {
            **secret,
            f"images/{profile.name}/{FILE}": json_bytes(profile.model_dump(mode="json")),
            **{f"apks/{package}.apk": path for package, path in apks.items()},
        }
        words = ("bake", profile.name, "--apks", f"{FOLDER}/apks")
        ended = _beside(baker, phone, words, given, baker.boot_s)
        if ended.code != 0:
            raise ImageFailed(f"{profile.name} was not baked: {ended.why}")
        told = _told(ended)
        _require_kept(baker, phone)
        baker.notify("committing what was saved")
        claims = (read(engine, phone, path) for path in (SYSTEM_IMAGE_FILE, SDK_FILE))
        claimed = content_labels(*(json.loads(claim) for claim in claims))
        id = images.commit(engine, phone, {**image_labels(baker.lock_file), **claimed})
    return id, told


def prove(baker: DockerBaker, lock: ImageLock) -> None:
    """A fresh container of the image is the phone that was baked; ImageFailed says what it is."""
    assert lock.container is not None
    baker.notify(f"proving {lock.profile}: a fresh container starts from {lock.snapshot}")
    with _phone(baker, lock.container.image) as (phone, secret):
        given = {**secret, IMAGE_FILE: json_bytes(lock.as_json())}
        words = ("prove", "--lock", f"{FOLDER}/{IMAGE_FILE}")
        ended = _beside(baker, phone, words, given, baker.resume_s)
        if ended.code != 0:
            raise ImageFailed(f"the image of {lock.profile} is not proven: {ended.why}")


@contextmanager
def _phone(
    baker: DockerBaker, image: str, *command: str, writable: bool = False
) -> Iterator[tuple[str, dict[str, bytes]]]:
    """A running device, and the secret it is asked with."""
    secret = {TOKEN: secrets.token_urlsafe(24).encode()}
    spec = _spec(baker, image, "phone", command, writable=writable)
    with running(baker.engine, spec, secret) as phone:
        yield phone, secret


def _spec(
    baker: DockerBaker, image: str, what: str, command: tuple[str, ...], *, writable: bool = False
) -> ContainerSpec:
    resources = baker.profile.resources
    # At run the private AVD is in a volume; at bake it must be in what is committed.
    mounts = (GIVEN,) if writable else (GIVEN, Mount(PLACE, volume=True))
    return ContainerSpec(
        name=f"emufarm-bake-{baker.profile.name}-{what}-{secrets.token_hex(4)}",
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


def _beside(
    baker: DockerBaker, phone: str, words: tuple[str, ...], given: Files, boot_s: float
) -> JobResult:
    """What `emufarm device ...` came to, in the phone's own network."""
    engine = baker.engine
    access = ("--control-port", str(CONTROL_PORT), "--control-token-file", f"{FOLDER}/{TOKEN}")
    spec = ContainerSpec(
        name=f"emufarm-bake-{baker.profile.name}-{words[0]}-{secrets.token_hex(4)}",
        image=baker.worker,
        command=("device", *words, *access, "--boot", f"{boot_s:g}"),
        labels=baker.labels,
        network=f"container:{phone}",
        limits=_WORKER,
        env={"EMUFARM_IMAGES": f"{FOLDER}/images"},
        mounts=(GIVEN,),
        tmpfs=("/tmp",),
    )

    def lives() -> None:
        seen = containers.inspect(engine, phone)
        if seen.exit_code:  # 0 is the end that was asked for
            killed = ", out of memory" if seen.oom_killed else ""
            raise ImageFailed(
                f"the phone of {baker.profile.name} ended with exit code {seen.exit_code}"
                f"{killed}; it said: {last_lines(engine, phone, LOG)}"
            )

    try:
        with running(engine, spec, given) as worker:
            ended = wait_for_end(engine, worker, words[0], boot_s + WORK_S, baker.notify, lives)
    except EngineRefused:
        lives()  # nobody can join the network of one that has ended: then that is why
        raise
    if ended is None:
        raise ImageFailed(f"`emufarm device {words[0]}` took more than {boot_s + WORK_S:g} s")
    if ended.code != 0:
        lives()  # likewise
    return ended


def _require_kept(baker: DockerBaker, phone: str) -> None:
    """The device ended in order, and says that it kept what was saved."""
    ended = wait_for_end(baker.engine, phone, "switching off", END_S, baker.notify)
    if ended is None:
        raise ImageFailed(f"the phone did not end within {END_S:g} s of its console's kill")
    if ended.code != 0 or '"baked"' not in ended.printed:
        said = last_lines(baker.engine, phone)
        raise ImageFailed(f"the phone kept nothing, exit code {ended.code}; it said: {said}")


def _told(ended: JobResult) -> dict[str, str]:
    try:
        told: dict[str, str] = json.loads(ended.printed)
    except ValueError as error:
        raise ImageFailed(f"the bake printed {ended.printed[:200]!r}, which is no JSON") from error
    return told


def _require_honest(profile: Profile, held: ImageContents) -> None:
    """The build's own words about the image, and every snapshot that the profile names."""
    if held.system_image != held.claimed_system_image:
        raise ImageFailed("the system image changed while it was baked")
    if held.sdk_sha256 != held.claimed_sdk_sha256:
        raise ImageFailed("the SDK changed while the image was baked")
    missing = [one.tag for one in profile.baked if one.tag not in held.snapshots]
    if missing:
        raise ImageFailed(f"the committed image lacks the snapshot {', '.join(missing)}")


def _require_labelled(engine: Engine, lock: ImageLock) -> None:
    """The image says of itself what the lock does."""
    assert lock.container is not None
    found = images.image(engine, lock.container.image)
    if found is None:
        raise ImageFailed(f"the engine has lost {lock.container.image}, which it committed")
    if wrong := mismatches(lock, found):
        raise ImageFailed(f"what was committed is not {lock.profile}: {'; '.join(wrong)}")
