"""Do a run's two documents say what its plan, its journal and its image's lock say? Pure.

The same fact stands in several places: once where it was found, and where readers look for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from ...coordinator.transitions import RunOpened
from ...pins.image_lock import parse_ini
from ...pins.run_manifest import AVD_KEYS, CAPABILITIES, MANIFEST, device_facts, plan_facts
from ...pins.sdk_tools import adb_release
from ...plan.plan import Plan

Document = Mapping[str, Any]
# What readers look for, and where the image's lock has it.
_OF_THE_LOCK = {
    "profile": "profile",
    "profile_digest": "profile_digest",
    "fingerprint": "fingerprint",
    "emulator_version": "emulator_version",
    "image_digest": "digest",
    "snapshot_tag": "snapshot",
    "snapshot_sha256": "snapshot_sha256",
}


def disagreements(
    manifest: Document,
    capabilities: Document,
    plan: Plan,
    opened: RunOpened,
    devices: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """A sentence each; KeyError or TypeError where a document is none of a run's."""
    problems = [
        f"{MANIFEST}: its {name} is not that of the plan" for name in _unplanned(manifest, plan)
    ]
    told = device_facts(devices)
    for name, document in ((MANIFEST, manifest), (CAPABILITIES, capabilities)):
        if any(document["android"][key] != value for key, value in told.items()):
            problems.append(f"{name}: its devices are not those that the journal tells of")
    reproducibility = manifest["reproducibility"]
    if reproducibility["limits"] != opened.settings["limits"]:
        problems.append(f"{MANIFEST}: its limits are not those that the run was opened with")
    problems += [f"{MANIFEST}: {text}" for text in _unlocked(manifest["android"])]
    if manifest["android"] != capabilities["android"]:
        problems.append(f"{CAPABILITIES}: its phone is not that of {MANIFEST}")
    repo = capabilities["repo"]
    if any(reproducibility[key] != repo[key] for key in ("commit", "dirty", "version")):
        problems.append(f"{CAPABILITIES}: its code is not that of {MANIFEST}")
    return problems


def _unplanned(manifest: Document, plan: Plan) -> Iterator[str]:
    """What differs from the plan, by its name in the manifest."""
    found = manifest["reproducibility"]
    yield from (name for name, value in plan_facts(plan).items() if found[name] != value)
    if manifest["seed"] != plan.seed:
        yield "seed"
    if manifest["agent"]["spec"] != plan.agent:
        yield "agent"


def _unlocked(android: Document) -> Iterator[str]:
    """What differs from the lock that stands beside it, or from the AVD's own words."""
    lock, avd = android["image_lock"], android["avd"]
    for name, key in _OF_THE_LOCK.items():
        if android[name] != lock[key]:
            yield f"its {name} is not that of its image lock"
    if adb_release(android["adb_version"]) != adb_release(lock["adb_version"]):
        yield "its adb_version is not that of its image lock"
    if any(android["system_image"][key] != value for key, value in lock["system_image"].items()):
        yield "its system_image is not that of its image lock"
    text = avd["config_ini"]
    digest = hashlib.sha256(text.encode()).hexdigest()
    if not avd["config_sha256"] == lock["config_sha256"] == digest or avd["name"] != lock["avd"]:
        yield "its AVD is not that of its image lock"
    config = parse_ini(text)
    for name, key in AVD_KEYS.items():
        # What config.ini does not say is null there, with its reason.
        if key in config and avd[name] != config[key]:
            yield f"its {name} is not what its config.ini says"
