"""compose.py and check_libraries.py: what an unpacked SDK must contain, and its final layout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.image import build_context
from orchestrator.pins.profile import PinnedZip, load_profile
from orchestrator.pins.system_image import hash_system_image
from tests.images.scripts import IMAGES, ROOT, load

PROFILE = load_profile("sim-api34")
FOLDER = "system-images/android-34/google_apis/x86_64"


@pytest.fixture
def sdk(tmp_path: Path) -> Path:
    folder = tmp_path / "sdk"
    for name in ("emulator/emulator", "platform-tools/adb", f"{FOLDER}/build.prop"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


def arguments() -> dict[str, str]:
    nowhere = PinnedZip(url="file:///nowhere", sha256="0" * 64)
    parts = build_context.SdkParts(nowhere, nowhere, nowhere)
    return build_context.build_args(PROFILE, parts, base_image="b", revision="r", version="v")


def compose(sdk: Path, into: Path, **env: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(IMAGES / "compose.py"), str(sdk), str(into)],
        env={"PYTHONPATH": str(ROOT), **arguments(), **env},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_the_avd_is_the_profiles_and_names_the_system_image(sdk: Path, tmp_path: Path) -> None:
    assert compose(sdk, tmp_path / "own") == (0, "")
    config = (tmp_path / "own/avd/emufarm.avd/config.ini").read_text().splitlines()
    assert {f"{key}={value}" for key, value in PROFILE.avd.items()} <= set(config)
    assert f"image.sysdir.1={FOLDER}/" in config
    assert config == sorted(config)
    ini = (tmp_path / "own/avd/emufarm.ini").read_text()
    assert "path=/var/emu/avd/emufarm.avd\n" in ini


def test_both_hashes_are_those_of_the_farms_own_code(sdk: Path, tmp_path: Path) -> None:
    compose(sdk, tmp_path / "own")
    told = json.loads((tmp_path / "own/system-image.json").read_text())
    assert told == vars(hash_system_image(sdk / FOLDER))
    first = (tmp_path / "own/sdk.json").read_text()
    (sdk / "emulator/emulator").write_text("changed")
    compose(sdk, tmp_path / "again")
    assert (tmp_path / "again/sdk.json").read_text() != first


def test_a_device_knows_what_it_needs(sdk: Path, tmp_path: Path) -> None:
    compose(sdk, tmp_path / "own", PROFILE_KVM="yes")
    device = json.loads((tmp_path / "own/device.json").read_text())
    assert device["kvm"] is True
    assert device["disk_mb"] == PROFILE.resources.disk_mb
    assert device["emulator"] == PROFILE.emulator
    assert device["snapshot"] == "clean"


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("emulator/emulator", "the SDK has no program emulator/emulator"),
        ("platform-tools/adb", "the SDK has no program platform-tools/adb"),
        (f"{FOLDER}/build.prop", f"the SDK has no system image at {FOLDER}"),
    ],
)
def test_a_zip_of_something_else_is_found(
    sdk: Path, tmp_path: Path, missing: str, sentence: str
) -> None:
    (sdk / missing).unlink()
    code, said = compose(sdk, tmp_path / "own")
    assert code == 1
    assert sentence in said


def test_a_key_that_would_write_another_is_refused(sdk: Path, tmp_path: Path) -> None:
    code, said = compose(sdk, tmp_path / "own", PROFILE_AVD='{"a": "1\\nb=2"}')
    assert code == 1
    assert "cannot be written to config.ini" in said


def test_programs_that_find_their_libraries_pass_and_scripts_are_said(sdk: Path) -> None:
    (sdk / "platform-tools/adb").write_bytes(Path("/bin/ls").read_bytes())
    wrong, skipped = load("check_libraries").missing(sdk)
    assert wrong == []
    assert skipped == ["emulator/emulator: a script"]


def test_a_library_that_is_not_there_is_named_with_who_needs_it(sdk: Path) -> None:
    """A program whose first library was renamed in its own table of names."""
    program = Path("/bin/ls").read_bytes()
    assert b"libc.so.6\0" in program
    (sdk / "platform-tools/adb").write_bytes(program.replace(b"libc.so.6\0", b"libX.so.6\0"))
    wrong, _ = load("check_libraries").missing(sdk)
    assert "platform-tools/adb needs libX.so.6" in wrong
