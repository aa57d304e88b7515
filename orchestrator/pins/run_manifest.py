"""Builds run_manifest.json and env_capabilities.json from facts, and adds the devices' own facts.

What is not known says why, and nothing else is null. Only `add_device_facts` reads and writes
files; the other functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import EmufarmError
from ..events.canonical import digest
from ..files import read_json, write_json
from ..plan.plan import Plan
from ..settings import RunSettings
from .host import FACTS, unknown
from .image_lock import ImageLock, parse_ini
from .profile import Profile

MANIFEST, CAPABILITIES = "run_manifest.json", "env_capabilities.json"
SCHEMA = 2
ACTION_TRACE_LEVEL = "L0"  # the harness itself executes and records each input
_UNREPORTED = "the device did not report it"
_NO_CONTAINER = "the local backend runs phones as processes, not in containers"
_NO_VERSION = "the emulator did not report it"
_NO_CACHE = "the harness itself calls no model"

# The manifest's names for values of config.ini.
AVD_KEYS = {
    "cpu_arch": "hw.cpu.arch",
    "ram_mb": "hw.ramSize",
    "disk": "disk.dataPartition.size",
    "width_px": "hw.lcd.width",
    "height_px": "hw.lcd.height",
    "density_dpi": "hw.lcd.density",
}

Facts = Mapping[str, Any]


def android_facts(
    profile: Profile, lock: ImageLock, *, emulator: list[str], adb_version: str, sdk: Facts
) -> dict[str, Any]:
    """The manifest's `android`: the image, its emulator and its tools."""
    config = parse_ini(lock.config_ini)
    return {
        "profile": profile.name,
        "profile_digest": profile.digest,
        "api_level": profile.api_level,
        "system_image": {"package": profile.system_image, **asdict(lock.system_image)},
        "fingerprint": lock.fingerprint,
        "emulator_version": lock.emulator_version or unknown(_NO_VERSION),
        "emulator_command": emulator,
        "adb_version": adb_version,
        "sdkmanager_version": sdk["sdkmanager"]["version"],
        "avdmanager_version": sdk["avdmanager"]["version"],
        "avd": {
            "name": lock.avd,
            "config_ini": lock.config_ini,
            "config_sha256": lock.config_sha256,
            "config": fill_unknown(config, "config.ini leaves it empty"),
            **{
                name: config.get(key) or unknown(f"config.ini has no {key}")
                for name, key in AVD_KEYS.items()
            },
        },
        "image_digest": lock.digest,
        "container_image": asdict(lock.container) if lock.container else unknown(_NO_CONTAINER),
        "snapshot_tag": lock.snapshot,
        "snapshot_sha256": lock.snapshot_sha256,
        "image_lock": fill_unknown(
            {k: v for k, v in lock.as_json().items() if k != "config_ini"}, _NO_VERSION
        ),
        **device_facts({}),
    }


def device_facts(devices: Mapping[str, Facts]) -> dict[str, Any]:
    """Each device's own answers by its id, and the input method of all of them."""
    return {
        "input_method": _common(devices.values(), "input_method"),
        "devices": {
            name: fill_unknown(facts, _UNREPORTED) for name, facts in sorted(devices.items())
        },
    }


def host_facts_of(devices: Mapping[str, Facts]) -> dict[str, Any]:
    """What the machines of all devices' workers have in common; each device has its own's."""
    hosts = [facts.get("host") or {} for facts in devices.values()]
    return {name: _common(hosts, name) for name in FACTS}


def plan_facts(plan: Plan) -> dict[str, Any]:
    """The facts of the plan that the manifest repeats."""
    return {
        "plan_digest": plan.digest,
        "profile": plan.profile,
        "profile_digest": plan.profile_digest,
        "global_seed": plan.seed,
        "case_seeds": {episode.id: episode.seed for episode in plan.episodes},
        "repeats": plan.repeats,
    }


def run_manifest(
    plan: Plan,
    settings: RunSettings,
    *,
    created_ts_ms: int,
    backend: str,
    agent: Facts,
    inference: Facts,
    repo: Facts,
    android: Facts,
) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA,
        "created_ts_ms": created_ts_ms,
        "execution_mode": backend,
        "seed": plan.seed,
        "agent": dict(agent),
        "inference": dict(inference),
        "reproducibility": {
            **plan_facts(plan),
            "variants": list(settings.variants),
            "limits": asdict(settings.limits),
            **({} if settings.noise is None else {"noise": settings.noise}),
            **{name: repo[name] for name in ("version", "commit", "dirty", "lock_sha256")},
        },
        "android": dict(android),
        "llm_cache": {"enabled": False, "why": _NO_CACHE},
        "action_trace_level": ACTION_TRACE_LEVEL,
    }


def env_capabilities(
    *, created_ts_ms: int, sdk: Facts, repo: Facts, android: Facts
) -> dict[str, Any]:
    """`sdk` is of the machine on which the run was planned; the rest of `host` is the workers'."""
    return {
        "schema_version": SCHEMA,
        "created_ts_ms": created_ts_ms,
        "host": {**host_facts_of({}), "sdk": dict(sdk)},
        "repo": dict(repo),
        "android": dict(android),
        "host_artifacts": {"case_site": "requests, and what pages posted, in each bundle"},
    }


def add_device_facts(run: Path, devices: Mapping[str, Mapping[str, Any]]) -> None:
    """Adds what each device reported when it started, by its id, to both documents of a run.

    Repeating it with the same facts leaves the same bytes. Never call it after the run is sealed.
    """
    for path in (run / MANIFEST, run / CAPABILITIES):
        document = read_json(path)
        try:
            document["android"].update(device_facts(devices))
            if path.name == CAPABILITIES:
                document["host"].update(host_facts_of(devices))
        except (KeyError, TypeError, AttributeError) as error:
            raise EmufarmError(f"{path} is not a run's document: {error!r}") from error
        write_json(path, document)


def fill_unknown(value: Any, why: str) -> Any:
    """The same value, with `unknown(why)` in place of every null and empty string."""
    if value is None or value == "":
        return unknown(why)
    if isinstance(value, Mapping):
        if value.keys() == unknown(why).keys():
            return dict(value)
        return {key: fill_unknown(one, why) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [fill_unknown(one, why) for one in value]
    return value


def _common(reports: Iterable[Facts], key: str) -> Any:
    """The value that all devices report; a difference is stated."""
    values = {digest(facts.get(key)): facts.get(key) for facts in reports}
    if not values:
        return unknown("no device has reported")
    if len(values) > 1:
        return unknown(f"devices differ: {', '.join(sorted(map(str, values.values())))}")
    (value,) = values.values()
    return value or unknown(_UNREPORTED)
