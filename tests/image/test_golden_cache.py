"""A golden AVD is baked once, proven, found again by its digest, and never used when broken."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.device.adb import adb_binary
from orchestrator.errors import UsageError
from orchestrator.farm.simulated_phone import simulator
from orchestrator.files import read_json, tree, write_json
from orchestrator.fleet.local.boot import boot
from orchestrator.fleet.local.device import LocalDevice
from orchestrator.folders import cache_folder
from orchestrator.image.golden_bake import BakeFailed, GoldenBaker
from orchestrator.image.golden_cache import (
    MANIFEST,
    GoldenImage,
    GoldenRecipe,
    golden_image,
)
from orchestrator.locks import try_lock
from orchestrator.pins.image_lock import FILE as LOCK
from orchestrator.pins.image_lock import MARKER, ImageLock, read_lock
from orchestrator.pins.profile import Profile
from orchestrator.pins.system_image import hash_system_image


def silent(line: str) -> None:
    return None


def test_a_phone_started_from_it_is_the_one_that_was_baked(
    image: GoldenImage, recipe: GoldenRecipe, tmp_path: Path
) -> None:
    """Its boot, its marker, its settings."""
    lock = image.lock
    with LocalDevice(tmp_path / "device", image.golden, simulator(), adb=adb_binary()) as running:
        device, _ = boot(running)
        assert device.clock.boot_id() == lock.boot_id
        assert device.files.read(MARKER).decode() == lock.marker
        assert device.identity().fingerprint == lock.fingerprint
        for namespace, values in recipe.profile.bake.settings.items():
            assert {key: device.settings.get(namespace, key) for key in values} == values


def test_its_lock_names_what_it_was_made_from(image: GoldenImage, recipe: GoldenRecipe) -> None:
    lock = read_lock(image.golden.home.parent / LOCK)
    assert lock == image.lock
    assert (lock.digest, lock.profile_digest) == (recipe.digest, recipe.profile.digest)
    assert lock.snapshot == image.golden.snapshot == recipe.profile.snapshot
    assert lock.system_image == hash_system_image(recipe.baker.system_image)


def test_a_phone_that_boots_cold_instead_is_not_baked(recipe: GoldenRecipe, tmp_path: Path) -> None:
    """The proof finds that it is another boot than the one saved, and nothing is kept."""
    program = Path(__file__).with_name("forgetful.py")
    forgetful = [sys.executable, str(program), *recipe.profile.emulator]
    baker = replace(recipe.baker, emulator=forgetful)
    with pytest.raises(BakeFailed, match="started from clean is a different phone"):
        golden_image(replace(recipe, baker=baker), tmp_path, silent)
    assert [path.name for path in (tmp_path / "golden").iterdir()] == [f".{recipe.digest}.lock"]


def changed(profile: Profile) -> Profile:
    return profile.model_copy(update={"version": "next"})


def test_a_changed_emulator_or_profile_or_version_is_another_image(
    recipe: GoldenRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = [
        recipe.digest,
        replace(recipe, program="another").digest,
        replace(recipe, profile=changed(recipe.profile)).digest,
    ]
    monkeypatch.setattr("orchestrator.image.golden_cache.__version__", "0.0.0")
    assert len({*digests, recipe.digest}) == 4


# From here on a bake is a quick one: what it makes is of no interest.


@pytest.fixture
def bakes(image: GoldenImage, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The digests of the bakes there were; each copies the session's image."""
    done: list[str] = []

    def copy(
        baker: GoldenBaker, profile: Profile, empty: Path, folder: Path, digest: str
    ) -> ImageLock:
        done.append(digest)
        shutil.copytree(image.golden.home, folder)
        return image.lock

    monkeypatch.setattr("orchestrator.image.golden_cache.bake", copy)
    return done


def test_a_second_use_bakes_nothing(recipe: GoldenRecipe, bakes: list[str], tmp_path: Path) -> None:
    assert golden_image(recipe, tmp_path, silent) == golden_image(recipe, tmp_path, silent)
    assert bakes == [recipe.digest]


def test_of_many_makers_one_bakes(recipe: GoldenRecipe, bakes: list[str], tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        makers = [threads.submit(golden_image, recipe, tmp_path, silent) for _ in range(4)]
        images = [maker.result() for maker in makers]
    assert bakes == [recipe.digest]
    assert all(image == images[0] for image in images)


def cut(place: Path) -> None:
    ram = next(place.rglob("ram.bin"))
    ram.write_bytes(ram.read_bytes()[:-1])


def lose(place: Path) -> None:
    next(place.rglob("config.ini")).unlink()


def add(place: Path) -> None:
    (place / "avd" / "stray").write_text("")


def cut_manifest(place: Path) -> None:
    (place / MANIFEST).write_bytes((place / MANIFEST).read_bytes()[:100])


def empty_manifest(place: Path) -> None:
    (place / MANIFEST).write_text("[]")


def lose_all(place: Path) -> None:
    shutil.rmtree(place / "avd")


@pytest.mark.parametrize("damage", [cut, lose, add, cut_manifest, empty_manifest, lose_all])
def test_a_broken_image_is_baked_again(
    recipe: GoldenRecipe, bakes: list[str], tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """And that is said, with what was wrong."""
    first, said = golden_image(recipe, tmp_path, silent), list[str]()
    damage(first.golden.home.parent)
    assert golden_image(recipe, tmp_path, said.append) == first
    assert len(bakes) == 2
    assert "is broken" in said[0]


def test_an_image_of_an_earlier_version_is_baked_again(
    recipe: GoldenRecipe, bakes: list[str], tmp_path: Path
) -> None:
    """Its lock does not name what this version pins."""
    first, said = golden_image(recipe, tmp_path, silent), list[str]()
    place = first.golden.home.parent
    told = read_json(place / LOCK)
    del told["system_image"], told["adb_version"]
    write_json(place / LOCK, {**told, "schema_version": 1})
    write_json(place / MANIFEST, tree(place, lambda name: name != MANIFEST))
    assert golden_image(recipe, tmp_path, said.append) == first
    assert len(bakes) == 2
    assert "is not an image lock of version 2" in said[0]


def test_a_bake_that_fails_leaves_nothing(
    recipe: GoldenRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> ImageLock:
        raise BakeFailed("it did not rise")

    monkeypatch.setattr("orchestrator.image.golden_cache.bake", fail)
    with pytest.raises(BakeFailed, match="did not rise"):
        golden_image(recipe, tmp_path, silent)
    assert [path.name for path in (tmp_path / "golden").iterdir()] == [f".{recipe.digest}.lock"]


def test_what_a_killed_baker_left_is_swept(
    recipe: GoldenRecipe, bakes: list[str], tmp_path: Path
) -> None:
    """Its own and others', but not what a living one is at."""
    golden = tmp_path / "golden"
    for name in (recipe.digest, "dead", "living"):
        (golden / f".{name}.new" / "image").mkdir(parents=True)
    with try_lock(golden / ".living.lock"):
        golden_image(recipe, tmp_path, silent)
    assert [path.name for path in golden.glob(".*.new")] == [".living.new"]
    assert bakes == [recipe.digest]


def test_an_unwritable_cache_is_named(recipe: GoldenRecipe, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="EMUFARM_CACHE"):
        golden_image(recipe, tmp_path / "file", silent)


def test_where_images_are_cached() -> None:
    assert cache_folder({"EMUFARM_CACHE": "/a", "XDG_CACHE_HOME": "/b"}) == Path("/a")
    assert cache_folder({"XDG_CACHE_HOME": "/b"}) == Path("/b/emufarm")
    assert cache_folder({}) == Path.home() / ".cache" / "emufarm"
