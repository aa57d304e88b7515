"""Differences between an image's contents, its labels and its lock are reported."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from orchestrator.files import file_sha256, source_sha256, tree_sha256
from orchestrator.fleet.docker.images import Image
from orchestrator.image.apks import NoApk, apks
from orchestrator.image.docker_check import content_labels, differing, locked_labels, mismatches
from orchestrator.pins.image_contents import ImageContents, parse_contents, read_contents
from orchestrator.pins.image_lock import Container, read_lock, write_lock
from orchestrator.pins.profile import Apk, load_profile
from orchestrator.pins.system_image import hash_system_image
from tests.pins.a_lock import LOCK

ID = f"sha256:{'a' * 64}"
LOCKED = replace(
    LOCK,
    container=Container(ID, "emufarm-device-x:1-abc", "t" * 64, {"clean": "s" * 64}, "a cpu", {}),
)
FOUND = Image(ID, (), locked_labels(LOCKED), 0, ())


def test_the_lock_of_a_container_is_read_as_it_was_written(tmp_path: Path) -> None:
    """And that of a folder says nothing of containers."""
    write_lock(tmp_path / "lock", LOCKED)
    assert read_lock(tmp_path / "lock") == LOCKED
    assert "container" not in LOCK.as_json()


def test_an_image_with_the_locked_id_and_labels_is_the_one() -> None:
    assert mismatches(LOCKED, FOUND) == []


@pytest.mark.parametrize("name", sorted(FOUND.labels))
def test_a_label_that_differs_is_told_with_both_values(name: str) -> None:
    liar = replace(FOUND, labels={**FOUND.labels, name: "another"})
    assert mismatches(LOCKED, liar) == [
        f"its label {name} is another, locked is {FOUND.labels[name]}"
    ]
    silent = replace(FOUND, labels={key: FOUND.labels[key] for key in FOUND.labels if key != name})
    assert mismatches(LOCKED, silent)[0].startswith(f"its label {name} is missing")


def test_another_image_is_told_by_its_id() -> None:
    assert mismatches(LOCKED, replace(FOUND, id="sha256:b")) == [
        f"the image is sha256:b, locked is {ID}"
    ]


@pytest.fixture
def inside(tmp_path: Path) -> ImageContents:
    """An image's folders, as its build and bake leave them."""
    own, sdk = tmp_path / "own", tmp_path / "sdk"
    system = sdk / "system-images" / "x"
    avd = own / "avd" / "emufarm.avd"
    for folder in (system, avd / "snapshots" / "clean", sdk / "__pycache__"):
        folder.mkdir(parents=True)
    (system / "build.prop").write_text("a=b")
    (sdk / "__pycache__" / "made-later.pyc").write_text("x")
    (avd / "config.ini").write_text("a=b\n")
    (avd / "snapshots" / "clean" / "ram.bin").write_text("ram")
    (avd / "snapshots" / "clean" / "snapshot.pb").write_text("changes with each load")
    (own / "device.json").write_text('{"avd": "emufarm"}')
    (own / "system-image.json").write_text(json.dumps(asdict(hash_system_image(system))))
    (own / "sdk.json").write_text(json.dumps({"tree_sha256": source_sha256(sdk)}))
    return read_contents(own, sdk)


def test_what_is_inside_is_hashed_as_it_was_when_built(
    inside: ImageContents, tmp_path: Path
) -> None:
    assert inside.system_image == inside.claimed_system_image
    assert inside.sdk_sha256 == inside.claimed_sdk_sha256
    (saved := tmp_path / "own/avd/emufarm.avd/snapshots/clean/snapshot.pb").unlink()
    assert inside.snapshots == {"clean": tree_sha256(saved.parent)}


def test_what_is_inside_is_told_and_understood(inside: ImageContents) -> None:
    assert parse_contents(json.dumps(asdict(inside))) == inside
    with pytest.raises(ValueError, match="not the contents"):
        parse_contents('{"avd": 1}')


def test_whatever_inside_differs_from_the_lock_is_told_with_both_values(
    inside: ImageContents,
) -> None:
    lock = replace(
        LOCKED,
        system_image=inside.system_image,
        config_ini=inside.config_ini,
        container=replace(
            LOCKED.container, sdk_sha256=inside.sdk_sha256, snapshots=inside.snapshots
        ),  # type: ignore[type-var]
    )
    assert differing(lock, inside) == []
    assert differing(lock, replace(inside, sdk_sha256="x")) == [
        f"the SDK is x, locked is {inside.sdk_sha256}"
    ]
    assert differing(lock, replace(inside, snapshots={"other": "x"})) == [
        f"the snapshot clean is missing, locked is {inside.snapshots['clean']}",
        "the snapshot other is x, locked is missing",
    ]


def test_labels_are_what_the_build_wrote_down(inside: ImageContents) -> None:
    claims = content_labels(asdict(inside.system_image), {"tree_sha256": "t"})
    assert set(claims.values()) == {
        inside.system_image.recipe_sha256, inside.system_image.relocatable_sha256, "t",
    }  # fmt: skip


def an_app(path: Path, sha256: str) -> Apk:
    return Apk(url=path.as_uri(), sha256=sha256, package="org.example.app", version="1")


def test_an_app_is_downloaded_once_and_held_against_its_pin(tmp_path: Path) -> None:
    source, said = tmp_path / "app.apk", list[str]()
    source.write_bytes(b"app")
    app = an_app(source, file_sha256(source))
    profile = load_profile("sim-api34").model_copy(update={"apks": [app]})
    kept = apks(profile, tmp_path / "cache", said.append)
    assert kept["org.example.app"].read_bytes() == b"app"
    assert apks(profile, tmp_path / "cache", said.append) == kept
    assert said == ["downloading org.example.app 1"]
    kept["org.example.app"].write_bytes(b"spoiled")
    assert apks(profile, tmp_path / "cache", said.append)["org.example.app"].read_bytes() == b"app"


def test_an_app_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "app.apk"
    source.write_bytes(b"another")
    profile = load_profile("sim-api34").model_copy(update={"apks": [an_app(source, "0" * 64)]})
    with pytest.raises(NoApk, match=r"has the sha256 \w+, pinned is 0000"):
        apks(profile, tmp_path / "cache", lambda line: None)
    source.unlink()
    with pytest.raises(NoApk, match=r"cannot download org.example.app.*No such file"):
        apks(profile, tmp_path / "cache", lambda line: None)
    assert list((tmp_path / "cache" / "apks").iterdir()) == []
