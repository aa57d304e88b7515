"""Images on a real engine: baked and proven, or nothing at all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import EmufarmError, UsageError
from orchestrator.fleet import containers, images, recipe
from orchestrator.fleet.engine import Engine, connect
from orchestrator.fleet.golden import cache_folder
from orchestrator.fleet.image_build import (
    DockerImage,
    Order,
    bake_image,
    build_only,
    ensure,
    order,
)
from orchestrator.fleet.image_shop import Shop, held
from orchestrator.fleet.image_sweep import BAKE, label_of
from orchestrator.fleet.image_verify import push, standing, verify
from orchestrator.fleet.images import ImageFailed
from orchestrator.pins.lock import IMAGE_FILE, ImageLock, read_lock, write_lock
from orchestrator.pins.profile import FILE, IMAGES_VARIABLE, Part, Profile, load_profile
from tests.ports import even_port
from tests.supervisor.supervised import until

from .image_engine import BASE_IMAGE, full_engine

pytestmark = pytest.mark.docker

NAME = "sim-api34"
EMULATOR_ZIP = "images/sdk/emulator.zip"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = connect()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def shop(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """With a cache and an images folder of its own, and the machine's wheels."""
    place = tmp_path_factory.mktemp("shop")
    wheels = cache_folder() / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    (place / "cache").mkdir()
    (place / "cache" / "wheels").symlink_to(wheels)
    home = place / "images" / NAME
    home.mkdir(parents=True)
    profile = load_profile(NAME)
    (home / FILE).write_bytes((Path(__file__).parents[2] / "images" / NAME / FILE).read_bytes())
    shop = Shop(engine, print, place / "cache", place / "images", BASE_IMAGE)
    yield shop
    for name in (profile.name, "_worker"):
        with held(shop, name) as lock:
            for tag in images.named(engine, label_of(lock)):
                images.remove(engine, [tag])


@pytest.fixture(scope="module")
def profile(shop: Shop) -> Profile:
    return load_profile(NAME, shop.images)


@pytest.fixture(scope="module")
def placed(shop: Shop, profile: Profile) -> Order:
    return order(shop, profile)


@pytest.fixture(scope="module")
def baked(shop: Shop, placed: Order) -> DockerImage:
    return bake_image(shop, placed)


def left(shop: Shop, profile: Profile) -> list[str]:
    """What a bake left under its lock, named or not."""
    label = label_of(shop.cache / "images" / f"{profile.name}.lock")
    running = [one.name for one in containers.listed(shop.engine, label)]
    return [*running, *images.untagged(shop.engine, label), *images.named(shop.engine, label)]


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
    assert found.labels[recipe.PROFILE_LABEL] == profile.digest


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


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
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
    return set(images.untagged(engine, BAKE)) | set(images.untagged(engine, recipe.STAGE_LABEL))


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


def relabelled(shop: Shop, baked: DockerImage, *changes: str) -> str:
    """An image that holds the same and says something else of itself."""
    spec = containers.Spec(
        "emufarm-test-liar", baked.image, (), {BAKE: "a test"}, "none",
        containers.Limits(1.0, 256, 64), writable=True,
    )  # fmt: skip
    id = containers.create(shop.engine, spec)
    try:
        return images.commit(shop.engine, id, dict(change.split("=") for change in changes))
    finally:
        containers.remove(shop.engine, id)


@pytest.fixture
def restored(shop: Shop, profile: Profile, baked: DockerImage) -> Iterator[ImageLock]:
    """The baked image has its name and its lock again afterwards."""
    yield baked.lock
    liar = images.image(shop.engine, baked.tag)
    images.give_tag(shop.engine, baked.image, baked.tag)
    write_lock(shop.lock_file(profile), baked.lock)
    if liar is not None and liar.id != baked.image:
        images.remove(shop.engine, [liar.id])


def test_an_image_that_is_not_the_locked_one_is_refused(
    shop: Shop, profile: Profile, baked: DockerImage, restored: ImageLock
) -> None:
    images.give_tag(shop.engine, relabelled(shop, baked, "a=b"), baked.tag)
    with pytest.raises(ImageFailed, match=r"the image is sha256:\w+, locked is sha256:"):
        verify(shop, profile)
    assert standing(shop, profile).state.startswith("the image is sha256:")


def test_a_label_that_lies_is_told(
    shop: Shop, profile: Profile, baked: DockerImage, restored: ImageLock
) -> None:
    """Also where the lock was made to name the liar."""
    liar = relabelled(shop, baked, f"{recipe.RECIPE_LABEL}={'0' * 64}")
    images.give_tag(shop.engine, liar, baked.tag)
    assert restored.container is not None
    named = replace(restored, container=replace(restored.container, image=liar))
    write_lock(shop.lock_file(profile), named)
    with pytest.raises(ImageFailed, match=rf"label {recipe.RECIPE_LABEL} says 0000"):
        verify(shop, profile)


def test_a_lock_that_lies_about_what_is_inside_is_told(
    shop: Shop, profile: Profile, baked: DockerImage, restored: ImageLock
) -> None:
    """Id and labels agree, the hash of the snapshot does not."""
    assert restored.container is not None
    lie = replace(restored.container, snapshots={"clean": "0" * 64})
    write_lock(shop.lock_file(profile), replace(restored, container=lie))
    with pytest.raises(ImageFailed, match=r"the snapshot clean is \w+, locked is 0000"):
        verify(shop, profile)


def test_what_a_killed_bake_left_is_swept_by_the_next(shop: Shop, profile: Profile) -> None:
    lock = shop.cache / "images" / f"{profile.name}.lock"
    env = {
        **os.environ,
        "EMUFARM_CACHE": str(shop.cache),
        IMAGES_VARIABLE: str(shop.images),
        "EMUFARM_BASE_IMAGE": BASE_IMAGE,
    }
    before = set(images.named(shop.engine, label_of(lock)))
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
    assert containers.listed(shop.engine, label_of(lock))
    with held(shop, profile.name):
        assert containers.listed(shop.engine, label_of(lock)) == ()
        assert images.untagged(shop.engine, label_of(lock)) == ()
        assert set(images.named(shop.engine, label_of(lock))) == before
    assert not list(lock.parent.glob("*.made"))


def test_a_licence_is_accepted_by_a_person(shop: Shop) -> None:
    pixel = load_profile("pixel-api34")
    with pytest.raises(UsageError, match=r"comes under android-sdk-license: read it.*--accept"):
        build_only(shop, order(shop, pixel))


def test_a_profile_that_needs_kvm_is_not_baked_without(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.fleet.image_shop.KVM", str(tmp_path / "kvm"))
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


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """Debian's, on loopback; an engine takes plain HTTP from there."""
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("docker-registry is not installed")
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


def test_a_pushed_image_has_its_digest_in_the_lock(
    shop: Shop, profile: Profile, baked: DockerImage, restored: ImageLock, registry: str
) -> None:
    target, digest = push(shop, profile, f"{registry}/farm/{profile.name}")
    assert target == f"{registry}/farm/{profile.name}:{baked.tag.rpartition(':')[2]}"
    lock = read_lock(shop.lock_file(profile))
    assert lock.container is not None
    assert lock.container.pushed == {target: digest}
    tag = target.rpartition(":")[2]
    request = urllib.request.Request(
        f"http://{registry}/v2/farm/{profile.name}/manifests/{tag}",
        headers={"Accept": "application/vnd.docker.distribution.manifest.v2+json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.headers["Docker-Content-Digest"] == digest
    images.remove(shop.engine, [target])


def test_what_no_registry_takes_is_told_and_keeps_no_second_name(
    shop: Shop, profile: Profile, baked: DockerImage, restored: ImageLock
) -> None:
    nobody = f"127.0.0.1:{even_port()}/farm/x"
    with pytest.raises(ImageFailed, match=r"was not pushed: .*connection refused"):
        push(shop, profile, nobody)
    assert not [name for name in images.named(shop.engine, BAKE) if name.startswith(nobody)]
    assert read_lock(shop.lock_file(profile)) == baked.lock
