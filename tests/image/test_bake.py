"""An image on a real engine is baked and proven, or nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import EmufarmError, UsageError
from orchestrator.files import json_bytes
from orchestrator.fleet.docker import containers, images
from orchestrator.fleet.docker.engine import Engine, connect
from orchestrator.fleet.docker.images import ImageFailed
from orchestrator.image import build_context
from orchestrator.image.builder import ImageBuilder, build_lock
from orchestrator.image.cleanup import (
    BAKE,
    MAKER,
    container_filter,
    image_filter,
    remove_all_leftovers,
)
from orchestrator.image.docker_check import PROFILE_LABEL
from orchestrator.image.docker_image import (
    BuildInputs,
    DockerImage,
    bake_image,
    build_inputs,
    build_only,
    ensure_image,
)
from orchestrator.image.docker_verify import image_status, verify
from orchestrator.pins.image_lock import IMAGE_FILE, read_lock
from orchestrator.pins.profile import FILE, IMAGES_VARIABLE, PinnedZip, Profile, load_profile
from tests.image.full_engine import BASE_IMAGE, full_engine

pytestmark = pytest.mark.docker

EMULATOR_ZIP = "images/sdk/emulator.zip"


def left(builder: ImageBuilder, profile: Profile) -> list[str]:
    """What a bake left under its lock, named or not."""
    lock = builder.cache / "images" / f"{profile.name}.lock"
    running = [one.name for one in containers.find(builder.engine, container_filter(lock))]
    made = image_filter(lock)
    return [*running, *images.untagged(builder.engine, made), *images.named(builder.engine, made)]


def test_a_baked_image_is_named_locked_and_proven_again(
    builder: ImageBuilder, profile: Profile, baked: DockerImage
) -> None:
    assert baked.tag == build_context.tag(profile)
    assert left(builder, profile) == [baked.tag]
    lock = read_lock(builder.lock_file(profile))
    assert lock == baked.lock
    assert verify(builder, profile) == lock
    assert image_status(builder, profile).state == "ready"
    found = images.image(builder.engine, baked.tag)
    assert found is not None
    assert found.id == baked.image
    assert found.labels[PROFILE_LABEL] == profile.digest


def test_an_image_that_is_there_is_not_made_again(
    builder: ImageBuilder, profile: Profile, baked: DockerImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setenv("EMUFARM_CACHE", str(builder.cache))
    monkeypatch.setenv(IMAGES_VARIABLE, str(builder.images))
    monkeypatch.setenv("EMUFARM_BASE_IMAGE", BASE_IMAGE)
    assert ensure_image(profile, builder.engine, said.append) == baked
    assert said == []


def test_two_builds_of_one_profile_hold_the_same(
    builder: ImageBuilder, inputs: BuildInputs
) -> None:
    """To the last byte of the SDK and the system image, with nothing taken from a cache."""
    first, second = (build_only(builder, inputs, fresh=True) for _ in range(2))
    for told in (first, second):
        images.remove(builder.engine, [str(told.pop("image"))])
    assert first == second


def test_each_snapshot_of_a_profile_is_baked_and_proven(
    builder: ImageBuilder, profile: Profile
) -> None:
    """In order: what is done for one is there in the next."""
    step = {"run": "settings put system marked 1", "ask": "settings get system marked", "want": "1"}
    told = profile.model_dump(mode="json") | {
        "name": "two-snapshots",
        "snapshots": [{"tag": "clean"}, {"tag": "marked", "setup": [step]}],
    }
    two = Profile.model_validate_json(json.dumps(told))
    (builder.images / two.name).mkdir()
    baked = bake_image(builder, build_inputs(builder, two))
    assert baked.lock.container is not None
    assert sorted(baked.lock.container.snapshots) == ["clean", "marked"]
    images.remove(builder.engine, [baked.tag])
    assert left(builder, two) == []


def tampered(inputs: BuildInputs, folder: Path) -> BuildInputs:
    """One byte of a file in the zip."""
    zip = folder / "emulator.zip"
    data = bytearray(inputs.files[EMULATOR_ZIP].read_bytes())
    data[len(data) // 2] ^= 1
    zip.write_bytes(data)
    return replace(inputs, files={**inputs.files, EMULATOR_ZIP: zip})


def truncated(inputs: BuildInputs, folder: Path) -> BuildInputs:
    zip = folder / "emulator.zip"
    zip.write_bytes(inputs.files[EMULATOR_ZIP].read_bytes()[:-1000])
    return replace(inputs, files={**inputs.files, EMULATOR_ZIP: zip})


def mispinned(inputs: BuildInputs, folder: Path) -> BuildInputs:
    was = inputs.parts.platform_tools
    wrong = PinnedZip(url=was.url, size=was.size, sha256="0" * 64)
    return replace(inputs, parts=replace(inputs.parts, platform_tools=wrong))


def forgetful(inputs: BuildInputs, folder: Path) -> BuildInputs:
    """Its snapshots are saved and never restored."""
    profile = inputs.profile
    emulator = [*profile.emulator, "-sim-fault", "snapshot-load-noop"]
    return replace(inputs, profile=profile.model_copy(update={"emulator": emulator}))


def damaging(inputs: BuildInputs, folder: Path) -> BuildInputs:
    """What is kept of the phone is not what was saved."""
    start = folder / "start.py"
    text = inputs.files["images/start.py"].read_text()
    cut = 'next(GOLDEN.rglob("ram.bin")).write_bytes(b"")'
    kept = "            keep(device)\n"
    assert kept in text
    start.write_text(text.replace(kept, f"{kept}            {cut}\n"))
    return replace(inputs, files={**inputs.files, "images/start.py": start})


def impossible(inputs: BuildInputs, folder: Path) -> BuildInputs:
    """More disk than there is."""
    profile = inputs.profile
    resources = profile.resources.model_copy(update={"disk_mb": 10**9})
    return replace(inputs, profile=profile.model_copy(update={"resources": resources}))


def mislabelled(inputs: BuildInputs, folder: Path) -> BuildInputs:
    """The image says that it is another profile's."""
    lying = folder / "Dockerfile"
    text = inputs.files[build_context.DOCKERFILE].read_text()
    said = f'{PROFILE_LABEL}="${{PROFILE_DIGEST}}"'
    assert said in text
    lying.write_text(text.replace(said, f'{PROFILE_LABEL}="0000"'))
    return replace(inputs, files={**inputs.files, build_context.DOCKERFILE: lying})


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (mislabelled, r"its label emufarm.profile.digest is 0000, locked is"),
        (tampered, r"emulator.zip has the sha256 \w+, pinned is"),
        (truncated, r"emulator.zip has \d+ bytes, pinned are \d+"),
        (mispinned, r"platform-tools.zip has the sha256 \w+, pinned is 0000"),
        (forgetful, r"is not proven: not ready: 20 s after its start"),
        (damaging, r"ended with exit code \d+; its last lines: .*Failed to load snapshot"),
        (impossible, "Not enough disk space to run AVD"),
    ],
)
def test_what_cannot_be_proven_gets_no_name_and_leaves_nothing(
    builder: ImageBuilder,
    inputs: BuildInputs,
    baked: DockerImage,  # a good one came first: what builds share is there before
    tmp_path: Path,
    spoil: Callable[[BuildInputs, Path], BuildInputs],
    words: str,
) -> None:
    bad = spoil(inputs, tmp_path)
    profile = bad.profile.model_copy(update={"name": "spoiled"})
    folder = builder.images / profile.name
    folder.mkdir(exist_ok=True)
    before = everything(builder.engine)
    with pytest.raises(ImageFailed, match=words) as told:
        bake_image(replace(builder, resume_s=20), replace(bad, profile=profile))
    assert "\n" not in str(told.value)
    assert left(builder, profile) == []
    assert everything(builder.engine) == before
    assert not (folder / IMAGE_FILE).exists()


def everything(engine: Engine) -> set[str]:
    """All images that have no name and that nothing is built upon: what is easily forgotten."""
    return set(images.untagged(engine, MAKER)) | set(
        images.untagged(engine, build_context.STAGE_LABEL)
    )


def test_a_full_disk_is_told_and_leaves_nothing(builder: ImageBuilder, inputs: BuildInputs) -> None:
    """On an engine whose own disk is small."""
    if os.getuid() != 0:
        pytest.skip("an engine of our own needs root")
    with full_engine() as host:
        engine = connect({"DOCKER_HOST": host})
        small = replace(builder, engine=engine)
        with pytest.raises(EmufarmError, match=r"(?i)no space left on device"):
            build_only(small, inputs)
        assert everything(engine) == set()
        assert containers.find(engine, BAKE) == ()
        engine.close()


@pytest.fixture
def other(builder: ImageBuilder, baked: DockerImage) -> Iterator[str]:
    """A container of the baked image that is none of a bake's: a run's phone."""
    spec = containers.ContainerSpec(
        "emufarm-test-other", baked.image, ("600",), {"emufarm.test": "images"}, "none",
        containers.ContainerLimits(1.0, 256, 64), entrypoint=("sleep",),
    )  # fmt: skip
    id = containers.create(builder.engine, spec)
    containers.start(builder.engine, id)
    yield id
    containers.remove(builder.engine, id)


def test_a_sweep_leaves_the_phones_of_runs_alone(
    builder: ImageBuilder, profile: Profile, other: str
) -> None:
    """Whose containers have the labels of the image, as every container has."""
    with build_lock(builder, profile.name):
        pass
    remove_all_leftovers(builder.engine, builder.cache)
    assert containers.inspect(builder.engine, other).state == "running"


def test_what_a_killed_bake_left_is_swept_by_the_next(
    builder: ImageBuilder, profile: Profile
) -> None:
    lock = builder.cache / "images" / f"{profile.name}.lock"
    env = {
        **os.environ,
        "EMUFARM_CACHE": str(builder.cache),
        IMAGES_VARIABLE: str(builder.images),
        "EMUFARM_BASE_IMAGE": BASE_IMAGE,
    }
    before = set(images.named(builder.engine, image_filter(lock)))
    process = subprocess.Popen(
        [sys.executable, "-m", "orchestrator.cli", "image", "bake", profile.name],
        env=env, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("setting up"):
            break
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    process.stderr.close()
    assert containers.find(builder.engine, container_filter(lock))
    with build_lock(builder, profile.name):
        assert containers.find(builder.engine, container_filter(lock)) == ()
        assert images.untagged(builder.engine, image_filter(lock)) == ()
        assert set(images.named(builder.engine, image_filter(lock))) == before
    assert not list(lock.parent.glob("*.made"))


def test_a_bake_killed_as_it_is_locked_leaves_no_name(
    builder: ImageBuilder, profile: Profile, tmp_path: Path
) -> None:
    """The worst moment: proven, and not yet told to anybody."""
    named = profile.model_copy(update={"name": "killed"})
    (builder.images / named.name).mkdir()
    (builder.images / named.name / FILE).write_bytes(json_bytes(named.model_dump(mode="json")))
    dying = (
        "import os, sys; from orchestrator.image import docker_image; from orchestrator import cli;"
        "docker_image.write_lock = lambda *_: os.kill(os.getpid(), 9);"
        "sys.argv = ['emufarm', 'image', 'bake', 'killed']; sys.exit(cli.main())"
    )
    env = {
        **os.environ,
        "EMUFARM_CACHE": str(builder.cache),
        IMAGES_VARIABLE: str(builder.images),
        "EMUFARM_BASE_IMAGE": BASE_IMAGE,
    }
    done = subprocess.run(
        [sys.executable, "-c", dying], env=env, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    with build_lock(builder, named.name):
        assert left(builder, named) == []


def test_a_licence_is_accepted_by_a_person(builder: ImageBuilder) -> None:
    pixel = load_profile("pixel-api34")
    with pytest.raises(UsageError, match=r"comes under android-sdk-license: read it.*--accept"):
        build_only(builder, build_inputs(builder, pixel))


def test_a_profile_that_needs_kvm_is_not_baked_without(
    builder: ImageBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.image.builder.KVM", str(tmp_path / "kvm"))
    pixel = load_profile("pixel-api34")
    (builder.images / pixel.name).mkdir()
    accepting = replace(builder, accept_licence=True)
    with pytest.raises(UsageError, match=r"needs KVM and \S+/kvm is not found"):
        bake_image(accepting, build_inputs(builder, pixel))


def test_a_folder_that_cannot_take_the_lock_is_told_before_the_build(
    builder: ImageBuilder, inputs: BuildInputs, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="EMUFARM_IMAGES"):
        bake_image(replace(builder, images=tmp_path / "file"), inputs)
