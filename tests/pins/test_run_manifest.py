"""The run's two documents have every key that other tools need, and no invented value."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import EmufarmError
from orchestrator.files import read_json, write_json
from orchestrator.pins.agent_card import AgentCard, agent_facts, inference_facts
from orchestrator.pins.code_version import repo_facts
from orchestrator.pins.host import FACTS, host_facts
from orchestrator.pins.image_lock import marker_text, read_lock, write_lock
from orchestrator.pins.profile import load_profile
from orchestrator.pins.run_manifest import (
    CAPABILITIES,
    MANIFEST,
    add_device_facts,
    android_facts,
    device_facts,
    env_capabilities,
    run_manifest,
)
from orchestrator.pins.sdk_tools import sdk_facts
from orchestrator.plan.plan import Episode, Plan
from orchestrator.settings import RunSettings
from tests.pins.a_lock import LOCK

PLAN = Plan(
    seed=7,
    repeats=1,
    agent="reference",
    profile="sim-api34",
    profile_digest="p" * 64,
    cases=(),
    episodes=(Episode("a.benign.0", "a", "benign", 0, 99, 1.0),),
)


EMULATOR = ["emulator", "-no-window"]
CARD = AgentCard(
    name="mine", version="2", model="m-1", provider="example.org", base_url="https://a.example/v1",
    sampling={"temperature": 0.2, "stop": ["END"]}, notes="Prompt 12.",
)  # fmt: skip


def android() -> dict[str, Any]:
    return android_facts(
        load_profile("sim-api34"), LOCK, emulator=EMULATOR, adb_version="36", sdk=sdk_facts({})
    )


def manifest(command: tuple[str, ...] = (), card: AgentCard | None = None) -> dict[str, Any]:
    return run_manifest(
        PLAN,
        RunSettings(seed=7),
        created_ts_ms=5,
        backend="local",
        agent=agent_facts(PLAN.agent, command, card),
        inference=inference_facts(command, card),
        repo=repo_facts(),
        android=android(),
    )


def capabilities() -> dict[str, Any]:
    sdk = sdk_facts({})
    return env_capabilities(created_ts_ms=5, sdk=sdk, repo=repo_facts(), android=android())


def nothings(value: Any, where: str = "") -> list[str]:
    """Every place where there is nothing, and no reason beside it."""
    if value is None or value == "":
        return [where]
    if isinstance(value, dict):
        if value.keys() == {"value", "why"}:
            return [] if value["value"] is None and value["why"] else [where]
        return [one for key in value for one in nothings(value[key], f"{where}.{key}")]
    if isinstance(value, list):
        return [one for key, item in enumerate(value) for one in nothings(item, f"{where}.{key}")]
    return []


def test_the_manifest_has_every_key_of_an_evidence_pack() -> None:
    told = manifest()
    assert set(told) == {
        "schema_version", "created_ts_ms", "execution_mode", "seed", "agent", "inference",
        "reproducibility", "android", "llm_cache", "action_trace_level",
    }  # fmt: skip
    assert told["action_trace_level"] == "L0"
    assert told["reproducibility"]["plan_digest"] == PLAN.digest
    assert told["reproducibility"]["case_seeds"] == {"a.benign.0": 99}


def test_the_capabilities_have_every_key_of_an_evidence_pack() -> None:
    assert set(capabilities()) == {
        "schema_version", "created_ts_ms", "host", "repo", "android", "host_artifacts",
    }  # fmt: skip


def test_the_contracts_list_is_there() -> None:
    """Sections 1.1 to 2.2 and 3, fact by fact."""
    told, host = manifest()["android"], capabilities()["host"]
    assert {"os", "kernel", "cpu", "kvm", "python", "pip", "sdk"} <= set(host)
    assert set(host["sdk"]) == {"root", "sdkmanager", "avdmanager", "adb", "emulator"}
    assert told["system_image"] == {
        "package": "system-images;android-34;google_apis;x86_64", "path": "/sdk/x86_64",
        "recipe_sha256": "r" * 64, "relocatable_sha256": "q" * 64, "files": 3, "bytes": 3077,
    }  # fmt: skip
    assert (told["snapshot_tag"], told["snapshot_sha256"]) == ("clean", "s" * 64)
    assert (told["image_digest"], told["api_level"]) == ("d" * 64, 34)
    assert (told["avd"]["name"], told["avd"]["config_ini"]) == ("emufarm", LOCK.config_ini)
    assert (told["avd"]["cpu_arch"], told["avd"]["ram_mb"]) == ("x86_64", "4096")
    assert set(told["avd"]) >= {"disk", "width_px", "height_px", "density_dpi"}


@pytest.mark.parametrize("card", [None, CARD, AgentCard(name="mine", version="2")])
@pytest.mark.parametrize("command", [(), (sys.executable, __file__)])
def test_nothing_is_empty_without_a_reason(
    tmp_path: Path, command: tuple[str, ...], card: AgentCard | None
) -> None:
    """In neither document, before and after devices reported."""
    files = {MANIFEST: manifest(command, card), CAPABILITIES: capabilities()}
    silent = {"input_method": None, "locale": "", "display": {"density": None}, "list": [""]}
    for file, content in files.items():
        write_json(tmp_path / file, content)
    for devices in ({}, {"slot-00.1": silent}):
        add_device_facts(tmp_path, devices)
        for file in files:
            assert nothings(read_json(tmp_path / file)) == []


def test_the_host_is_that_of_the_workers(tmp_path: Path) -> None:
    """Not of the machine on which the run was planned; where machines differ, each device tells."""
    write_json(tmp_path / MANIFEST, manifest())
    write_json(tmp_path / CAPABILITIES, capabilities())
    assert set(host_facts()) == set(FACTS)
    assert capabilities()["host"]["kernel"] == {"value": None, "why": "no device has reported"}
    one = host_facts() | {"kernel": "Linux 6.1"}
    for other, kernel in (
        ("Linux 6.1", "Linux 6.1"),
        ("Linux 5.9", {"value": None, "why": "devices differ: Linux 5.9, Linux 6.1"}),
    ):
        two = one | {"kernel": other}
        add_device_facts(tmp_path, {"slot-00.1": {"host": one}, "slot-01.1": {"host": two}})
        found = read_json(tmp_path / CAPABILITIES)
        assert (found["host"]["kernel"], found["host"]["cpu"]) == (kernel, one["cpu"])
        assert found["android"]["devices"]["slot-01.1"]["host"]["kernel"] == other


def test_an_empty_word_would_be_found() -> None:
    """The walk of the test above sees what it is to see."""
    assert nothings({"a": {"b": [{"c": None}, ""]}, "d": {"value": None, "why": ""}}) == [
        ".a.b.0.c", ".a.b.1", ".d",
    ]  # fmt: skip


def test_what_is_unknown_says_why() -> None:
    told = android()
    for key in ("emulator_version", "sdkmanager_version", "container_image", "input_method"):
        assert told[key]["value"] is None
        assert told[key]["why"]
    assert told["avd"]["disk"] == {
        "value": None, "why": "config.ini has no disk.dataPartition.size",
    }  # fmt: skip
    assert told["avd"]["config"]["hw.empty"]["why"] == "config.ini leaves it empty"


def test_devices_complete_both_documents_and_twice_is_once(tmp_path: Path) -> None:
    for file, content in ((MANIFEST, manifest()), (CAPABILITIES, capabilities())):
        write_json(tmp_path / file, content)
    one = {"input_method": "latin", "serial": "emulator-5586"}
    add_device_facts(tmp_path, {"slot-00.1": one})
    once = [(tmp_path / file).read_bytes() for file in (MANIFEST, CAPABILITIES)]
    add_device_facts(tmp_path, {"slot-00.1": one})
    assert once == [(tmp_path / file).read_bytes() for file in (MANIFEST, CAPABILITIES)]
    for content in map(json.loads, once):
        assert content["android"]["input_method"] == "latin"
        assert content["android"]["devices"] == {"slot-00.1": one}


def test_devices_that_differ_are_news() -> None:
    told = device_facts({"a": {"input_method": "latin"}, "b": {"input_method": "other"}})
    assert told["input_method"]["why"] == "devices differ: latin, other"


def test_a_spoiled_document_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("[]")
    with pytest.raises(EmufarmError, match="is not a run's document"):
        add_device_facts(tmp_path, {})


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_lock(tmp_path / "lock", LOCK)
    assert read_lock(tmp_path / "lock") == LOCK
    assert LOCK.marker == marker_text("clean", "0011") == '{"nonce":"0011","tag":"clean"}'


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told.pop("boot_id"),
        lambda told: told.update(schema_version=1),
        lambda told: told["system_image"].pop("path"),
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
