"""What must a run name to be repeatable? `run_manifest.json` and `env_capabilities.json`.

Pure: facts in, documents out. Both are written when a run starts and again as devices report;
what is not known yet says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..plan.plan import Plan
from ..settings import RunSettings
from .host import unknown
from .lock import ImageLock
from .profile import Profile

SCHEMA = 1
ACTION_TRACE_LEVEL = "L0"  # the harness itself executes and records each input
_NOT_YET = "no device has reported yet"
_NO_SDK_TOOL = "not used: the AVD is written without it"
_NO_MODEL = "the harness calls no model; a command agent's own calls are not seen by it"

Facts = Mapping[str, Any]


def android_facts(
    profile: Profile,
    lock: ImageLock,
    *,
    adb_version: str,
    system_image_sha256: str | None,
    devices: Mapping[str, Facts],
) -> dict[str, Any]:
    """The image, and each device's own answers by its id: an `Identity` as JSON."""
    config = _ini(lock.config_ini)
    return {
        "profile": profile.name,
        "profile_digest": profile.digest,
        "api_level": profile.api_level,
        "system_image": profile.system_image,
        "system_image_sha256": system_image_sha256 or unknown("the system image is not at hand"),
        "fingerprint": lock.fingerprint,
        "emulator_version": lock.emulator_version or unknown("the emulator did not tell it"),
        "adb_version": adb_version,
        "sdkmanager_version": unknown(_NO_SDK_TOOL),
        "avdmanager_version": unknown(_NO_SDK_TOOL),
        "avd": {
            "name": lock.avd,
            "config_ini": lock.config_ini,
            "config_sha256": lock.config_sha256,
            "cpu_arch": _key(config, "hw.cpu.arch"),
            "ram_mb": _key(config, "hw.ramSize"),
            "disk": _key(config, "disk.dataPartition.size"),
            "width_px": _key(config, "hw.lcd.width"),
            "height_px": _key(config, "hw.lcd.height"),
            "density_dpi": _key(config, "hw.lcd.density"),
        },
        "input_method": _common(devices, "input_method"),
        "snapshot_tag": lock.snapshot,
        "image_lock": {k: v for k, v in lock.as_json().items() if k != "config_ini"},
        "devices": {name: dict(facts) for name, facts in sorted(devices.items())},
    }


def run_manifest(
    plan: Plan,
    settings: RunSettings,
    *,
    created_ts_ms: int,
    backend: str,
    agent_trusted: bool,
    repo: Facts,
    android: Facts,
) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA,
        "created_ts_ms": created_ts_ms,
        "execution_mode": backend,
        "seed": plan.seed,
        "agent": {"name": plan.agent, "trusted_with_host": agent_trusted},
        "inference": unknown(_NO_MODEL),
        "reproducibility": {
            "plan_digest": plan.digest,
            "profile": plan.profile,
            "profile_digest": plan.profile_digest,
            "global_seed": plan.seed,
            "case_seeds": {episode.id: episode.seed for episode in plan.episodes},
            "repeats": plan.repeats,
            "variants": list(settings.variants),
            "limits": asdict(settings.limits),
            "version": repo["version"],
            "commit": repo["commit"],
            "dirty": repo["dirty"],
            "lock_sha256": repo["lock_sha256"],
        },
        "android": dict(android),
        "llm_cache": {"enabled": False, "why": _NO_MODEL},
        "action_trace_level": ACTION_TRACE_LEVEL,
    }


def env_capabilities(
    *, created_ts_ms: int, host: Facts, repo: Facts, android: Facts
) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA,
        "created_ts_ms": created_ts_ms,
        "host": dict(host),
        "repo": dict(repo),
        "android": dict(android),
        "host_artifacts": unknown("no oracle of this version reads files of the host"),
    }


def _ini(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _key(config: Mapping[str, str], name: str) -> Any:
    return config.get(name) or unknown(f"config.ini has no {name}")


def _common(devices: Mapping[str, Facts], key: str) -> Any:
    """What all devices say; they are of one image, so a difference is news."""
    told = {facts.get(key) for facts in devices.values()}
    if not told:
        return unknown(_NOT_YET)
    if len(told) > 1:
        return unknown(f"devices differ: {', '.join(sorted(map(str, told)))}")
    return told.pop() or unknown("the device did not tell it")
