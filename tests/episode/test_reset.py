"""Without a proven reset there is no attempt; each rung of the ladder is recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.device.faults import DeviceFault
from orchestrator.device.snapshot import Snapshots
from orchestrator.episode.reset import NotProven, PinMismatch, differences, reset
from orchestrator.evidence.bundle import Bundle
from orchestrator.pins.image_lock import MARKER
from tests.episode.stage import Says, Stage


def climb(stage: Stage, **lock: Any) -> list[dict[str, Any]]:
    """The reset events, proven or not."""
    stage.attempts += 1
    try:
        with Bundle(stage.folder) as bundle:
            reset(stage.device, replace(stage.lock, **lock), bundle, 20.0, lambda: None)
    finally:
        events = stage.trace("device_trace", "reset")
    return events


def test_another_phone_than_the_lock_names_is_never_good_enough(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage.device, "supervisor", None)
    with pytest.raises(NotProven, match="baked marker"):
        climb(stage, nonce="another")
    assert [event["proven"] for event in stage.trace("device_trace", "reset")] == [False, False]


def test_without_sentinels_a_load_proves_nothing_yet(stage: Stage) -> None:
    proof = stage.device.snapshots.load(stage.lock.snapshot, marker=MARKER)
    assert differences(proof, stage.lock) == []
    for lacking in (replace(proof, file_gone=None), replace(proof, property_gone=None)):
        (wrong,) = differences(lacking, stage.lock)
        assert "sentinels" in wrong


def test_a_phone_that_adb_has_lost_is_loaded_all_the_same(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_vain() -> None:
        raise DeviceFault("device_offline", "still")

    monkeypatch.setattr(stage.device, "reconnect", in_vain)
    stage.device.shell.run("settings", "put", "global", "adb_enabled", "0")
    with pytest.raises(DeviceFault):  # a moment later, adbd is gone
        stage.device.shell.run("sleep", "20")
    events = climb(stage)
    assert [event["proven"] for event in events] == [False, True]
    (first, *_) = stage.trace("device_trace", "reconnect")
    assert "still" in first["outcome"]


def test_an_emulator_that_cannot_load_is_started_anew(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, calls = Snapshots.load, []

    def refused_twice(snapshots: Snapshots, tag: str, **more: Any) -> Any:
        calls.append(tag)
        if len(calls) <= 2:
            raise DeviceFault("snapshot_failed", "KO: corrupt")
        return load(snapshots, tag, **more)

    monkeypatch.setattr(Snapshots, "load", refused_twice)
    events = climb(stage)
    assert [(event["rung"], event["proven"]) for event in events] == [
        ("load", False), ("load", False), ("restart", True),
    ]  # fmt: skip
    assert all(event["command"] for event in events)


def test_an_attempt_without_a_proven_reset_is_infrastructures(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage.device, "supervisor", None)
    stage.lock = replace(stage.lock, boot_id="another")
    agent = Says()
    played = stage.play(agent)
    told = played.judgement
    assert (told.outcome, told.phase, told.reason) == ("infra_failed", "reset", "reset_not_proven")
    assert not played.reached
    assert agent.shown == []


@pytest.mark.parametrize("pin", ["fingerprint", "emulator_version", "snapshot_sha256"])
def test_another_device_than_the_lock_names_is_a_fault_at_once(stage: Stage, pin: str) -> None:
    """Before the first step, and no rung is climbed in vain: none cures a pin."""
    other: dict[str, Any] = {pin: "google/another"}
    stage.lock = replace(stage.lock, **other)
    agent = Says()
    told = stage.play(agent).judgement
    assert (told.outcome, told.phase, told.reason) == ("infra_failed", "reset", "pin_mismatch")
    assert f"{pin} is " in told.text
    assert "baked was google/another" in told.text
    assert agent.shown == []
    assert len(stage.trace("device_trace", "reset")) == 1
    (event,) = stage.trace("device_trace", "pins")
    assert event["wrong"] == [told.text]
    assert event["pins"][pin]["baked"] == "google/another"
    assert event["pins"][pin]["found"] not in (None, "google/another")


def test_a_device_whose_config_was_changed_is_not_the_one_baked(stage: Stage) -> None:
    assert stage.device.supervisor is not None
    config = Path(stage.device.supervisor.facts().avd_path) / "config.ini"
    whole = config.read_text()
    config.write_text(whole.replace("hw.gpu.mode=swiftshader_indirect", "hw.gpu.mode=host"))
    try:
        told = stage.play(Says()).judgement
    finally:
        config.write_text(whole)
    assert told.reason == "pin_mismatch"
    assert told.text == "config.ini hw.gpu.mode is host, baked was swiftshader_indirect"


def test_a_wrong_pin_is_found_behind_a_load_that_fails(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be why: an emulator refuses a snapshot of another configuration."""

    def refused(*_: Any, **__: Any) -> Any:
        raise DeviceFault("snapshot_failed", "KO: different AVD configuration")

    monkeypatch.setattr(Snapshots, "load", refused)
    with pytest.raises(PinMismatch, match="avd is emufarm, baked was another"):
        climb(stage, avd="another")


def test_the_pins_that_were_compared_are_told_with_every_reset(stage: Stage) -> None:
    climb(stage)
    (event,) = stage.trace("device_trace", "pins")
    assert event["wrong"] == []
    assert set(event["pins"]) == {
        "fingerprint", "emulator_version", "adb_version", "avd", "config_ini", "snapshot",
        "snapshot_sha256",
    }  # fmt: skip
    assert all(pin["baked"] == pin["found"] for pin in event["pins"].values())
