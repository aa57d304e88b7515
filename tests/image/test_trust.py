"""A false label, lock or registry name of an image is detected."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import __version__
from orchestrator.fleet.docker import containers, images
from orchestrator.fleet.docker.images import ImageFailed
from orchestrator.image.builder import ImageBuilder
from orchestrator.image.cleanup import BAKE, MAKER
from orchestrator.image.docker_check import RECIPE_LABEL, contents_of
from orchestrator.image.docker_image import DockerImage
from orchestrator.image.docker_job import packed
from orchestrator.image.docker_verify import image_status, push, verify
from orchestrator.pins.image_lock import ImageLock, read_lock, write_lock
from orchestrator.pins.profile import Profile
from tests.e2e.engine import install
from tests.ports import even_port
from tests.supervisor.supervised import until

pytestmark = pytest.mark.docker


def test_an_image_does_not_answer_for_itself(
    builder: ImageBuilder, baked: DockerImage, tmp_path: Path
) -> None:
    """Not by a program of the same name in the folder that it starts in."""
    spec = containers.ContainerSpec(
        "emufarm-test-fooled", baked.image, (), {BAKE: "a test"}, "none",
        containers.ContainerLimits(1.0, 256, 64), writable=True,
    )  # fmt: skip
    fake = {f"orchestrator/{name}": b"" for name in ("__init__.py", "pins/__init__.py")}
    id = containers.create(builder.engine, spec)
    try:
        answer = {**fake, "orchestrator/pins/image_contents.py": b"print('{}')"}
        containers.upload(builder.engine, id, "/var/emu", packed(answer))
        liar = images.commit(builder.engine, id, {BAKE: "", MAKER: "a test"})
    finally:
        containers.remove(builder.engine, id)
    try:
        told = contents_of(builder.engine, liar, {BAKE: "a test"}, print)
    finally:
        images.remove(builder.engine, [liar])
    assert told.snapshots == {"clean": baked.lock.snapshot_sha256}


def relabelled(builder: ImageBuilder, baked: DockerImage, *changes: str) -> str:
    """An image that holds the same and says something else of itself."""
    spec = containers.ContainerSpec(
        "emufarm-test-liar", baked.image, (), {BAKE: "a test"}, "none",
        containers.ContainerLimits(1.0, 256, 64), writable=True,
    )  # fmt: skip
    id = containers.create(builder.engine, spec)
    try:
        return images.commit(builder.engine, id, dict(change.split("=") for change in changes))
    finally:
        containers.remove(builder.engine, id)


@pytest.fixture
def restored(builder: ImageBuilder, profile: Profile, baked: DockerImage) -> Iterator[ImageLock]:
    """The baked image has its name and its lock again afterwards."""
    yield baked.lock
    liar = images.image(builder.engine, baked.tag)
    images.give_tag(builder.engine, baked.image, baked.tag)
    write_lock(builder.lock_file(profile), baked.lock)
    if liar is not None and liar.id != baked.image:
        images.remove(builder.engine, [liar.id])


def test_an_image_that_is_not_the_locked_one_is_refused(
    builder: ImageBuilder, profile: Profile, baked: DockerImage, restored: ImageLock
) -> None:
    images.give_tag(builder.engine, relabelled(builder, baked, "a=b"), baked.tag)
    with pytest.raises(ImageFailed, match=r"the image is sha256:\w+, locked is sha256:"):
        verify(builder, profile)
    assert image_status(builder, profile).state.startswith("the image is sha256:")


def test_a_label_that_lies_is_told(
    builder: ImageBuilder, profile: Profile, baked: DockerImage, restored: ImageLock
) -> None:
    """Also where the lock was made to name the liar."""
    liar = relabelled(builder, baked, f"{RECIPE_LABEL}={'0' * 64}")
    images.give_tag(builder.engine, liar, baked.tag)
    assert restored.container is not None
    named = replace(restored, container=replace(restored.container, image=liar))
    write_lock(builder.lock_file(profile), named)
    with pytest.raises(ImageFailed, match=rf"label {RECIPE_LABEL} is 0000"):
        verify(builder, profile)


def test_a_lock_that_lies_about_what_is_inside_is_told(
    builder: ImageBuilder, profile: Profile, baked: DockerImage, restored: ImageLock
) -> None:
    """Id and labels agree, the hash of the snapshot does not."""
    assert restored.container is not None
    lie = replace(restored.container, snapshots={"clean": "0" * 64})
    write_lock(builder.lock_file(profile), replace(restored, container=lie))
    with pytest.raises(ImageFailed, match=r"the snapshot clean is \w+, locked is 0000"):
        verify(builder, profile)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """Debian's, on loopback; an engine takes plain HTTP from there."""
    name = "docker-registry"
    if shutil.which(name) is None and os.getuid() != 0:
        pytest.skip(f"{name} is not installed, and to install it needs root")
    install({name: name})
    program = shutil.which(name)
    assert program is not None
    host = f"127.0.0.1:{even_port()}"
    told = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(tmp_path / "registry")}},
        "http": {"addr": host},
    }
    (tmp_path / "registry.yml").write_text(json.dumps(told))
    with (tmp_path / "registry.log").open("wb") as log:
        process = subprocess.Popen(
            [program, "serve", str(tmp_path / "registry.yml")], stdout=log, stderr=log
        )
    try:
        until(lambda: answers(host), "the registry")
        yield host
    finally:
        process.terminate()
        process.wait(30)


def answers(host: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{host}/v2/", timeout=5):
            return True
    except OSError:
        return False


def test_a_pushed_image_and_its_worker_image_have_their_digests_in_the_lock(
    builder: ImageBuilder, profile: Profile, baked: DockerImage, restored: ImageLock, registry: str
) -> None:
    place = f"{registry}/farm/{profile.name}"
    device, worker = push(builder, profile, place)
    assert device.name == f"{place}:{baked.tag.rpartition(':')[2]}"
    assert worker.name.startswith(f"{place}-worker:{__version__}-")
    lock = read_lock(builder.lock_file(profile))
    assert lock.container is not None
    assert lock.container.pushed == {device.name: device.digest}
    assert lock.container.worker_pushed == {worker.name: worker.digest}
    for pushed in (device, worker):
        repository, _, tag = pushed.name.removeprefix(f"{registry}/").rpartition(":")
        request = urllib.request.Request(
            f"http://{registry}/v2/{repository}/manifests/{tag}",
            headers={"Accept": "application/vnd.docker.distribution.manifest.v2+json"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.headers["Docker-Content-Digest"] == pushed.digest
    images.remove(builder.engine, [device.name, worker.name])


def test_what_no_registry_takes_is_told_and_keeps_no_second_name(
    builder: ImageBuilder, profile: Profile, baked: DockerImage, restored: ImageLock
) -> None:
    nobody = f"127.0.0.1:{even_port()}/farm/x"
    with pytest.raises(ImageFailed, match=r"was not pushed: .*connection refused"):
        push(builder, profile, nobody)
    assert not [name for name in images.named(builder.engine, MAKER) if name.startswith(nobody)]
    assert read_lock(builder.lock_file(profile)) == baked.lock
