"""A reset is proven or there is no attempt; each rung of the ladder is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.device.faults import DeviceFault
from orchestrator.device.snapshot import Snapshots
from orchestrator.episode.reset import NotProven, differences, reset
from orchestrator.evidence.bundle import Bundle
from orchestrator.pins.lock import MARKER
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
