"""The run's two documents: every key other tools ask for, and nothing made up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import EmufarmError
from orchestrator.pins.code import repo_facts
from orchestrator.pins.host import host_facts
from orchestrator.pins.lock import ImageLock, marker, read_lock, write_lock
from orchestrator.pins.manifest import android_facts, env_capabilities, run_manifest
from orchestrator.pins.profile import load_profile
from orchestrator.plan.plan import Episode, Plan
from orchestrator.settings import RunSettings

LOCK = ImageLock(
    digest="d" * 64,
    profile="sim-api34",
    profile_digest="p" * 64,
    avd="emufarm",
    snapshot="clean",
    boot_id="b",
    nonce="0011",
    fingerprint="google/x/y:14",
    emulator_version=None,
    config_ini="hw.cpu.arch=x86_64\nhw.ramSize=4096\n",
    config_sha256="c" * 64,
    snapshot_sha256="s" * 64,
    baked_ts_ms=1,
)
PLAN = Plan(
    seed=7,
    repeats=1,
    agent="reference",
    profile="sim-api34",
    profile_digest="p" * 64,
    cases=(),
    episodes=(Episode("a.benign.0", "a", "benign", 0, 99, 1.0),),
)


def android(**devices: dict[str, Any]) -> dict[str, Any]:
    return android_facts(
        load_profile("sim-api34"),
        LOCK,
        adb_version="36",
        system_image_sha256=None,
        devices=devices,
    )


def test_the_manifest_has_every_key_of_an_evidence_pack() -> None:
    told = run_manifest(
        PLAN,
        RunSettings(seed=7),
        created_ts_ms=5,
        backend="local",
        agent_trusted=True,
        repo=repo_facts(),
        android=android(),
    )
    assert set(told) == {
        "schema_version", "created_ts_ms", "execution_mode", "seed", "agent", "inference",
        "reproducibility", "android", "llm_cache", "action_trace_level",
    }  # fmt: skip
    assert told["action_trace_level"] == "L0"
    assert told["reproducibility"]["plan_digest"] == PLAN.digest
    assert told["reproducibility"]["case_seeds"] == {"a.benign.0": 99}
    json.dumps(told, allow_nan=False)


def test_the_capabilities_have_every_key_of_an_evidence_pack() -> None:
    told = env_capabilities(
        created_ts_ms=5, host=host_facts(), repo=repo_facts(), android=android()
    )
    assert set(told) == {
        "schema_version", "created_ts_ms", "host", "repo", "android", "host_artifacts",
    }  # fmt: skip
    json.dumps(told, allow_nan=False)


def test_what_is_unknown_says_why() -> None:
    told = android()
    for key in ("emulator_version", "sdkmanager_version", "system_image_sha256", "input_method"):
        assert told[key]["value"] is None
        assert told[key]["why"]
    assert told["avd"]["disk"] == {
        "value": None, "why": "config.ini has no disk.dataPartition.size",
    }  # fmt: skip
    assert told["avd"]["ram_mb"] == "4096"


def test_devices_complete_it() -> None:
    one = {"input_method": "latin", "serial": "emulator-5586"}
    assert android(**{"slot-00.1": one})["input_method"] == "latin"
    assert android(**{"slot-00.1": one})["devices"] == {"slot-00.1": one}
    other = {**one, "input_method": "other"}
    both = android(**{"slot-00.1": one, "slot-01.1": other})
    assert both["input_method"]["why"] == "devices differ: latin, other"


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_lock(tmp_path / "lock", LOCK)
    assert read_lock(tmp_path / "lock") == LOCK
    assert LOCK.marker == marker("clean", "0011") == '{"nonce":"0011","tag":"clean"}'


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told.pop("boot_id"),
        lambda told: told.update(schema_version=2),
        lambda told: told.update(baked_ts_ms="1"),
        lambda told: told.update(more="1"),
    ],
)
def test_another_lock_is_refused(tmp_path: Path, damage: Any) -> None:
    told = replace(LOCK).as_json()
    damage(told)
    (tmp_path / "lock").write_text(json.dumps(told))
    with pytest.raises(EmufarmError, match="lock"):
        read_lock(tmp_path / "lock")


@pytest.mark.parametrize("content", ["", "{", "[]", "null"])
def test_a_cut_lock_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "lock").write_text(content)
    with pytest.raises(EmufarmError, match="lock"):
        read_lock(tmp_path / "lock")
