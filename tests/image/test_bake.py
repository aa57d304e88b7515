"""Images on a real engine: baked and proven, or nothing at all."""

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
from orchestrator.fleet.docker import containers, images
from orchestrator.fleet.docker.engine import Engine, connect
from orchestrator.fleet.docker.images import ImageFailed
from orchestrator.image import recipe
from orchestrator.image.builder import Shop, held
from orchestrator.image.container_build import (
    DockerImage,
    Order,
    bake_image,
    build_only,
    ensure,
    order,
)
from orchestrator.image.container_pins import PROFILE_LABEL
from orchestrator.image.sweep import BAKE, MAKER, images_of, sweep_all, work_of
from orchestrator.image.verify import standing, verify
from orchestrator.pins.files import json_bytes
from orchestrator.pins.image_lock import IMAGE_FILE, read_lock
from orchestrator.pins.profile import FILE, IMAGES_VARIABLE, Part, Profile, load_profile
from tests.image.full_engine import BASE_IMAGE, full_engine

pytestmark = pytest.mark.docker

EMULATOR_ZIP = "images/sdk/emulator.zip"


def left(shop: Shop, profile: Profile) -> list[str]:
    """What a bake left under its lock, named or not."""
    lock = shop.cache / "images" / f"{profile.name}.lock"
    running = [one.name for one in containers.listed(shop.engine, work_of(lock))]
    made = images_of(lock)
    return [*running, *images.untagged(shop.engine, made), *images.named(shop.engine, made)]


def test_a_baked_image_is_named_locked_and_proven_again(
    shop: Shop, profile: Profile, baked: DockerImage
) -> None:
    assert baked.tag == recipe.tag(profile)
    assert left(shop, profile) == [baked.tag]
    lock = read_lock(shop.lock_file(profile))
    assert lock == baked.lock
    assert verify(shop, profile) == lock
    assert standing(shop, profile).state == "ready"
    found = images.image(shop.engine, baked.tag)
    assert found is not None
    assert found.id == baked.image
    assert found.labels[PROFILE_LABEL] == profile.digest


def test_an_image_that_is_there_is_not_made_again(
    shop: Shop, profile: Profile, baked: DockerImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setenv("EMUFARM_CACHE", str(shop.cache))
    monkeypatch.setenv(IMAGES_VARIABLE, str(shop.images))
    monkeypatch.setenv("EMUFARM_BASE_IMAGE", BASE_IMAGE)
    assert ensure(profile, shop.engine, said.append) == baked
    assert said == []


def test_two_builds_of_one_profile_hold_the_same(shop: Shop, placed: Order) -> None:
    """To the last byte of the SDK and the system image, with nothing taken from a cache."""
    first, second = (build_only(shop, placed, fresh=True) for _ in range(2))
    for told in (first, second):
        images.remove(shop.engine, [str(told.pop("image"))])
    assert first == second


def test_each_snapshot_of_a_profile_is_baked_and_proven(shop: Shop, profile: Profile) -> None:
    """In order: what is done for one is there in the next."""
    step = {"run": "settings put system marked 1", "ask": "settings get system marked", "want": "1"}
    told = profile.model_dump(mode="json") | {
        "name": "two-snapshots",
        "snapshots": [{"tag": "clean"}, {"tag": "marked", "setup": [step]}],
    }
    two = Profile.model_validate_json(json.dumps(told))
    (shop.images / two.name).mkdir()
    baked = bake_image(shop, order(shop, two))
    assert baked.lock.container is not None
    assert sorted(baked.lock.container.snapshots) == ["clean", "marked"]
    images.remove(shop.engine, [baked.tag])
    assert left(shop, two) == []


def tampered(placed: Order, folder: Path) -> Order:
    """One byte of a file in the zip."""
    zip = folder / "emulator.zip"
    data = bytearray(placed.files[EMULATOR_ZIP].read_bytes())
    data[len(data) // 2] ^= 1
    zip.write_bytes(data)
    return replace(placed, files={**placed.files, EMULATOR_ZIP: zip})


def truncated(placed: Order, folder: Path) -> Order:
    zip = folder / "emulator.zip"
    zip.write_bytes(placed.files[EMULATOR_ZIP].read_bytes()[:-1000])
    return replace(placed, files={**placed.files, EMULATOR_ZIP: zip})


def mispinned(placed: Order, folder: Path) -> Order:
    was = placed.parts.platform_tools
    wrong = Part(url=was.url, size=was.size, sha256="0" * 64)
    return replace(placed, parts=replace(placed.parts, platform_tools=wrong))


def forgetful(placed: Order, folder: Path) -> Order:
    """Its snapshots are saved and never restored."""
    profile = placed.profile
    emulator = [*profile.emulator, "-sim-fault", "snapshot-load-noop"]
    return replace(placed, profile=profile.model_copy(update={"emulator": emulator}))


def damaging(placed: Order, folder: Path) -> Order:
    """What is kept of the phone is not what was saved."""
    start = folder / "start.py"
    text = placed.files["images/start.py"].read_text()
    cut = 'next(GOLDEN.rglob("ram.bin")).write_bytes(b"")'
    kept = "            keep(device)\n"
    assert kept in text
    start.write_text(text.replace(kept, f"{kept}            {cut}\n"))
    return replace(placed, files={**placed.files, "images/start.py": start})


def impossible(placed: Order, folder: Path) -> Order:
    """More disk than there is."""
    profile = placed.profile
    resources = profile.resources.model_copy(update={"disk_mb": 10**9})
    return replace(placed, profile=profile.model_copy(update={"resources": resources}))


def mislabelled(placed: Order, folder: Path) -> Order:
    """The image says that it is another profile's."""
    lying = folder / "Dockerfile"
    text = placed.files[recipe.DOCKERFILE].read_text()
    said = f'{PROFILE_LABEL}="${{PROFILE_DIGEST}}"'
    assert said in text
    lying.write_text(text.replace(said, f'{PROFILE_LABEL}="0000"'))
    return replace(placed, files={**placed.files, recipe.DOCKERFILE: lying})


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (mislabelled, r"its label emufarm.profile.digest says 0000, locked is"),
        (tampered, r"emulator.zip has the sha256 \w+, pinned is"),
        (truncated, r"emulator.zip has \d+ bytes, pinned are \d+"),
        (mispinned, r"platform-tools.zip has the sha256 \w+, pinned is 0000"),
        (forgetful, r"is not proven: not ready: 20 s after its start"),
        (damaging, r"ended with exit code \d+; it said: .*Failed to load snapshot"),
        (impossible, "Not enough disk space to run AVD"),
    ],
)
def test_what_cannot_be_proven_gets_no_name_and_leaves_nothing(
    shop: Shop,
    placed: Order,
    baked: DockerImage,  # a good one came first: what builds share is there before
    tmp_path: Path,
    spoil: Callable[[Order, Path], Order],
    words: str,
) -> None:
    bad = spoil(placed, tmp_path)
    profile = bad.profile.model_copy(update={"name": "spoiled"})
    folder = shop.images / profile.name
    folder.mkdir(exist_ok=True)
    before = everything(shop.engine)
    with pytest.raises(ImageFailed, match=words) as told:
        bake_image(replace(shop, resume_s=20), replace(bad, profile=profile))
    assert "\n" not in str(told.value)
    assert left(shop, profile) == []
    assert everything(shop.engine) == before
    assert not (folder / IMAGE_FILE).exists()


def everything(engine: Engine) -> set[str]:
    """All images that have no name and that nothing is built upon: what is easily forgotten."""
    return set(images.untagged(engine, MAKER)) | set(images.untagged(engine, recipe.STAGE_LABEL))


def test_a_full_disk_is_told_and_leaves_nothing(shop: Shop, placed: Order) -> None:
    """On an engine whose own disk is small."""
    if os.getuid() != 0:
        pytest.skip("an engine of our own needs root")
    with full_engine() as host:
        engine = connect({"DOCKER_HOST": host})
        small = replace(shop, engine=engine)
        with pytest.raises(EmufarmError, match=r"(?i)no space left on device"):
            build_only(small, placed)
        assert everything(engine) == set()
        assert containers.listed(engine, BAKE) == ()
        engine.close()


@pytest.fixture
def other(shop: Shop, baked: DockerImage) -> Iterator[str]:
    """A container of the baked image that is none of a bake's: a run's phone."""
    spec = containers.Spec(
        "emufarm-test-other", baked.image, ("600",), {"emufarm.test": "images"}, "none",
        containers.Limits(1.0, 256, 64), entrypoint=("sleep",),
    )  # fmt: skip
    id = containers.create(shop.engine, spec)
    containers.start(shop.engine, id)
    yield id
    containers.remove(shop.engine, id)


def test_a_sweep_leaves_the_phones_of_runs_alone(shop: Shop, profile: Profile, other: str) -> None:
    """Whose containers have the labels of the image, as every container has."""
    with held(shop, profile.name):
        pass
    sweep_all(shop.engine, shop.cache)
    assert containers.seen(shop.engine, other).state == "running"


def test_what_a_killed_bake_left_is_swept_by_the_next(shop: Shop, profile: Profile) -> None:
    lock = shop.cache / "images" / f"{profile.name}.lock"
    env = {
        **os.environ,
        "EMUFARM_CACHE": str(shop.cache),
        IMAGES_VARIABLE: str(shop.images),
        "EMUFARM_BASE_IMAGE": BASE_IMAGE,
    }
    before = set(images.named(shop.engine, images_of(lock)))
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
    assert containers.listed(shop.engine, work_of(lock))
    with held(shop, profile.name):
        assert containers.listed(shop.engine, work_of(lock)) == ()
        assert images.untagged(shop.engine, images_of(lock)) == ()
        assert set(images.named(shop.engine, images_of(lock))) == before
    assert not list(lock.parent.glob("*.made"))


def test_a_bake_killed_as_it_is_locked_leaves_no_name(
    shop: Shop, profile: Profile, tmp_path: Path
) -> None:
    """The worst moment: proven, and not yet told to anybody."""
    named = profile.model_copy(update={"name": "killed"})
    (shop.images / named.name).mkdir()
    (shop.images / named.name / FILE).write_bytes(json_bytes(named.model_dump(mode="json")))
    dying = (
        "import os, sys; from orchestrator.fleet import image_build; from orchestrator import cli;"
        "image_build.write_lock = lambda *_: os.kill(os.getpid(), 9);"
        "sys.argv = ['emufarm', 'image', 'bake', 'killed']; sys.exit(cli.main())"
    )
    env = {
        **os.environ,
        "EMUFARM_CACHE": str(shop.cache),
        IMAGES_VARIABLE: str(shop.images),
        "EMUFARM_BASE_IMAGE": BASE_IMAGE,
    }
    done = subprocess.run(
        [sys.executable, "-c", dying], env=env, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    with held(shop, named.name):
        assert left(shop, named) == []


def test_a_licence_is_accepted_by_a_person(shop: Shop) -> None:
    pixel = load_profile("pixel-api34")
    with pytest.raises(UsageError, match=r"comes under android-sdk-license: read it.*--accept"):
        build_only(shop, order(shop, pixel))


def test_a_profile_that_needs_kvm_is_not_baked_without(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.image.builder.KVM", str(tmp_path / "kvm"))
    pixel = load_profile("pixel-api34")
    (shop.images / pixel.name).mkdir()
    accepting = replace(shop, accept_licence=True)
    with pytest.raises(UsageError, match=r"needs KVM and \S+/kvm is not found"):
        bake_image(accepting, order(shop, pixel))


def test_a_folder_that_cannot_take_the_lock_is_told_before_the_build(
    shop: Shop, placed: Order, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="EMUFARM_IMAGES"):
        bake_image(replace(shop, images=tmp_path / "nowhere"), placed)
