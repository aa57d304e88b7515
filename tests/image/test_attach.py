"""A phone reached only through its supervisor is set up, saved and proven, as in a container."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.cli import commands
from orchestrator.device.adb import adb_binary
from orchestrator.device.attach import attach, wait_booted
from orchestrator.device.faults import DeviceFault
from orchestrator.device.phone import Device
from orchestrator.farm.simulated_phone import simulated_phone, simulator
from orchestrator.fleet.local.device import LocalDevice
from orchestrator.image import bake_steps
from orchestrator.image.bake_steps import BakeFailed, bake_phone, prove_phone
from orchestrator.image.golden_cache import GoldenImage
from orchestrator.pins.image_lock import MARKER, write_lock
from orchestrator.pins.profile import BakeStep, Profile, Snapshot, load_profile
from tests.ports import even_port

PROFILE = load_profile("sim-api34")


def quiet(line: str) -> None:
    return None


@pytest.fixture
def running() -> Iterator[LocalDevice]:
    with simulated_phone() as running:
        yield running


@pytest.fixture
def phone(running: LocalDevice) -> Device:
    token = running.control_token
    return wait_booted(attach(running.control_port, token, 60, quiet), 60, quiet)


def with_setup(*steps: BakeStep) -> Profile:
    return PROFILE.model_copy(
        update={"snapshots": [Snapshot(tag="clean"), Snapshot(tag="second", setup=list(steps))]}
    )


def test_a_supervisor_that_never_answers_is_a_fault_that_says_so() -> None:
    with pytest.raises(DeviceFault, match=r"0.3 s passed: .*no answer"):
        attach(even_port(), "secret", 0.3, quiet)


def test_every_snapshot_has_its_marker_and_what_was_done_for_it(phone: Device) -> None:
    step = BakeStep(run="settings put system seen 1", ask="settings get system seen", want="1")
    baked = bake_phone(phone, with_setup(step), "nonce1", quiet)
    phone.snapshots.load("clean")
    assert phone.settings.get("system", "seen") is None
    assert phone.files.read(MARKER) == b'{"nonce":"nonce1","tag":"clean"}'
    phone.snapshots.load("second")
    assert phone.settings.get("system", "seen") == "1"
    assert phone.files.read(MARKER) == b'{"nonce":"nonce1","tag":"second"}'
    assert baked.boot_id == phone.clock.boot_id()


def test_a_step_that_does_not_take_effect_is_told(
    phone: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bake_steps, "STEP_S", 0.3)
    step = BakeStep(run="true", ask="settings get system seen", want="1")
    with pytest.raises(BakeFailed, match="after 'true', 'settings get system seen' says 'null'"):
        bake_phone(phone, with_setup(step), "nonce1", quiet)


def test_the_commands_bake_and_prove_a_phone(
    running: LocalDevice, phone: Device, image: GoldenImage, tmp_path: Path
) -> None:
    """`device bake` prints what a lock needs and switches the phone off."""
    token = tmp_path / "token"
    token.write_text(running.control_token)
    access = ["--control-port", str(running.control_port), "--control-token-file", str(token)]
    done = CliRunner().invoke(commands(), ["device", "bake", PROFILE.name, *access])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert {"boot_id", "nonce", "fingerprint", "host_cpu"} <= told.keys()
    assert running.wait() == 0
    write_lock(tmp_path / "lock", image.lock)
    with LocalDevice(tmp_path / "d", image.golden, simulator(), adb=adb_binary()) as baked:
        token.write_text(baked.control_token)
        access = ["--control-port", str(baked.control_port), "--control-token-file", str(token)]
        done = CliRunner().invoke(
            commands(), ["device", "prove", "--lock", str(tmp_path / "lock"), *access]
        )
        assert done.exit_code == 0, done.output
        device = attach(baked.control_port, baked.control_token, 60, quiet)
        with pytest.raises(BakeFailed, match="a different phone: snapshot_sha256 is"):
            prove_phone(device, replace(image.lock, snapshot_sha256="0" * 64), quiet)
        with pytest.raises(BakeFailed, match="started from clean is a different phone"):
            prove_phone(device, replace(image.lock, nonce="another"), quiet)
