"""images/start.py reports at once what the machine lacks, in messages that the farm classifies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.images.scripts import IMAGES, ROOT, load

start = load("start")
DEVICE = {"avd": "emufarm", "disk_mb": 1, "emulator": ["-no-window"], "kvm": False}
DEVICE["snapshot"] = "clean"
NOBODY = 65534


def test_nothing_is_asked_of_a_machine_that_the_profile_does_not_need(tmp_path: Path) -> None:
    start.preflight(DEVICE, tmp_path / "no-kvm", tmp_path)


def test_a_missing_kvm_is_the_emulators_own_sentence(tmp_path: Path) -> None:
    with pytest.raises(start.CannotRun, match="is not found: VT disabled in BIOS or KVM kernel"):
        start.preflight({**DEVICE, "kvm": True}, tmp_path / "kvm", tmp_path)


def test_a_usable_kvm_is_enough(tmp_path: Path) -> None:
    (tmp_path / "kvm").touch()
    start.preflight({**DEVICE, "kvm": True}, tmp_path / "kvm", tmp_path)


@contextmanager
def not_root() -> Iterator[None]:
    """Root may open everything."""
    before = os.geteuid()
    os.seteuid(before or NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_kvm_of_somebody_elses_is_a_matter_of_permissions(tmp_path: Path) -> None:
    (tmp_path / "kvm").touch(0o000)
    refused = pytest.raises(start.CannotRun, match="ProbeKVM: This user doesn't have permissions")
    with not_root(), refused:
        start.preflight({**DEVICE, "kvm": True}, tmp_path / "kvm", tmp_path)


def test_a_disk_too_small_is_the_emulators_own_sentence(tmp_path: Path) -> None:
    with pytest.raises(start.CannotRun, match="Not enough disk space to run AVD 'emufarm'"):
        start.preflight({**DEVICE, "disk_mb": 1 << 40}, tmp_path, tmp_path)


def test_a_place_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(start.CannotRun, match="cannot write"):
        start.preflight(DEVICE, tmp_path, tmp_path / "none")


def test_the_program_ends_at_once_with_the_reason_as_its_last_line(tmp_path: Path) -> None:
    shutil.copy(IMAGES / "start.py", tmp_path)
    shutil.copytree(ROOT / "orchestrator/supervisor", tmp_path / "supervisor")
    (tmp_path / "device.json").write_text(json.dumps({**DEVICE, "disk_mb": 1 << 40}))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "start.py")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(("start: Not enough disk space", "start: uid "))


def given(*words: str) -> list[str]:
    own, _, extra = " ".join(words).partition("-- ")
    parsed = start.parse(own.split())
    return list(start.command(DEVICE, parsed, extra.split()))


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(start, "GOLDEN", tmp_path / "golden")
    monkeypatch.setattr(start, "PLACE", tmp_path / "place")
    (tmp_path / "golden/emufarm.avd").mkdir(parents=True)
    return tmp_path / "golden"


def test_an_image_that_was_never_baked_boots_cold(golden: Path) -> None:
    assert "--snapshot" not in given()


def test_a_baked_image_starts_from_its_snapshot(golden: Path) -> None:
    (golden / "emufarm.avd/snapshots/clean").mkdir(parents=True)
    words = given("--", "-sim-noise", "7")
    assert words[words.index("--snapshot") + 1] == "clean"
    assert words[-3:] == ["-no-window", "-sim-noise", "7"]
    assert "--snapshot" not in given("--bake")


def test_what_was_baked_takes_the_golden_place_without_its_locks(golden: Path) -> None:
    new = golden.parent / "place/avd/emufarm.avd"
    (new / "snapshots/clean").mkdir(parents=True)
    (new / "multiinstance.lock").write_text("1")
    (new / "hardware-qemu.ini.lock").mkdir()
    (golden.parent / "place/home").mkdir()
    start.keep(DEVICE)
    assert [path.name for path in (golden / "emufarm.avd").iterdir()] == ["snapshots"]
    assert not any((golden.parent / "place").iterdir())


def test_an_avd_without_its_snapshot_never_becomes_golden(golden: Path) -> None:
    (golden.parent / "place/avd/emufarm.avd").mkdir(parents=True)
    with pytest.raises(start.CannotRun, match="ended before the snapshot clean was saved"):
        start.keep(DEVICE)
    assert (golden / "emufarm.avd").is_dir()
