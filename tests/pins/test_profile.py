"""Profiles are read strictly, refused in one sentence, and digested by their content."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.pins.profile import images_folder, load_profile

NAME = "sim-api34"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "profile.yaml").write_text(text())
    return tmp_path


def text() -> str:
    return (images_folder({}) / NAME / "profile.yaml").read_text()


def test_the_embedded_profile_is_sound() -> None:
    profile = load_profile(NAME)
    assert profile.name == NAME
    assert profile.roles["settings"] == "com.android.settings"


def test_the_real_profile_pins_every_part_and_needs_kvm_and_a_licence() -> None:
    profile = load_profile("pixel-api34")
    assert profile.sdk is not None
    parts = (profile.sdk.emulator, profile.sdk.platform_tools, profile.sdk.system_image)
    assert all(part is not None and (part.sha1 or part.sha256) for part in parts)
    assert profile.kvm
    assert profile.licence
    assert [snapshot.tag for snapshot in profile.baked] == ["clean"]


@pytest.mark.parametrize(
    ("sdk", "sentence"),
    [
        ("{standin: true, emulator: {url: 'https://a/b', sha1: '%s'}}" % ("0" * 40), "stand-in"),
        ("{emulator: {url: 'https://a/b'}}", "sdk.emulator: .* write its sha1 or sha256"),
        ("{emulator: {url: 'ftp://a/b', sha1: '%s'}}" % ("0" * 40), "sdk.emulator.url"),
        ("{emulator: {url: 'https://a/b', sha256: 'abc'}}", "sdk.emulator.sha256"),
        ("{standin: true, packages: ['x; rm -rf /']}", "sdk.packages.0"),
    ],
)
def test_an_sdk_that_could_not_be_checked_is_refused(images: Path, sdk: str, sentence: str) -> None:
    kept = re.sub(r"sdk:\n  standin: true[^\n]*\n", "", text())
    (images / NAME / "profile.yaml").write_text(f"{kept}\nsdk: {sdk}\n")
    with pytest.raises(UsageError, match=sentence):
        load_profile(NAME, images)


def test_an_unknown_profile_is_answered_with_those_there_are(images: Path) -> None:
    with pytest.raises(UsageError, match=f"there is no profile 'nexus'; choose one of {NAME}"):
        load_profile("nexus", images)


def test_a_misspelled_profile_is_answered_with_the_nearest(images: Path) -> None:
    with pytest.raises(
        UsageError, match=f"there is no profile '{NAME[1:]}'; did you mean '{NAME}'"
    ):
        load_profile(NAME[1:], images)


def test_a_name_that_climbs_out_is_unknown(images: Path) -> None:
    with pytest.raises(UsageError, match="there is no profile"):
        load_profile(f"../{images.name}/{NAME}", images)


def test_no_profiles_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no profiles"):
        load_profile(NAME, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("loads: 40", "loads: forty", "loads: Input should be a valid integer"),
        ("loads: 40", "loads: 64", "loads: Input should be less than or equal to 60"),
        ("loads: 40", "lods: 40", "lods: is not a key of a profile"),
        ("settle_s: 1.5", "settle_s: .nan", "settle_s: Input should be a finite number"),
        ("snapshot: clean", "snapshot: two words", "snapshot: String should match"),
        ('hw.ramSize: "4096"', "hw.ramSize: 4096", r"avd.hw.ramSize: .* \(put it in quotes\)"),
        ("name: sim-api34", "name: other", "its name is 'other', but its folder is 'sim-api34'"),
        ("loads: 40", "loads: 40\nloads: 41", r"profile.yaml:\d+: 'loads' is written twice"),
        ("loads: 40", "loads: [", r"profile.yaml:\d+: "),
        ("    global:", "    globals:", "bake.settings.globals"),
        ("  standin: true", "  standin: false", "sdk: .* write emulator, platform_tools and"),
        ("  memory_mb: 1024", "  memory_mb: 1", "resources.memory_mb: "),
        ("snapshot: clean", "snapshot: default_boot", "cannot be called default_boot"),
        ("kvm: false", "snapshots: [{tag: other}]", "'clean', which is not among the snapshots"),
        ("kvm: false", "snapshots: [{tag: clean}, {tag: clean}]", "have the same tag"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_it(
    images: Path, old: str, new: str, sentence: str
) -> None:
    assert old in text()
    (images / NAME / "profile.yaml").write_text(text().replace(old, new, 1))
    with pytest.raises(UsageError, match=sentence) as caught:
        load_profile(NAME, images)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", ":1: the file is empty; write a profile"),
        ("- a\n- b\n", "the file: "),
        ("just words", "the file: "),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(images: Path, content: str, sentence: str) -> None:
    (images / NAME / "profile.yaml").write_text(content)
    with pytest.raises(UsageError, match=sentence):
        load_profile(NAME, images)


def test_the_digest_follows_the_values_and_nothing_else(images: Path) -> None:
    """Comments and order are free; every value counts."""
    file = images / NAME / "profile.yaml"
    plain = load_profile(NAME, images).digest
    file.write_text("# another comment\n" + "loads: 40\n" + text().replace("loads: 40", ""))
    assert load_profile(NAME, images).digest == plain
    file.write_text(text().replace('auto_time: "0"', 'auto_time: "1"'))
    assert load_profile(NAME, images).digest != plain


def test_the_folder_of_images_can_be_named() -> None:
    assert images_folder({"EMUFARM_IMAGES": "/elsewhere"}) == Path("/elsewhere")
