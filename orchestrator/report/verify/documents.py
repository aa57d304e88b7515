"""Verifies a run's manifest and capabilities against its plan, journal and image lock. Pure.

The same fact is recorded in several places: where it was found, and where readers look for it.
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
# Fields of the manifest, and the same fields of the image lock.
_LOCK_FIELDS = {
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
    """One sentence for each contradiction; KeyError or TypeError if a document is malformed."""
    problems = [
        f"{MANIFEST}: its {name} is not that of the plan"
        for name in _differs_from_plan(manifest, plan)
    ]
    facts = device_facts(devices)
    for name, document in ((MANIFEST, manifest), (CAPABILITIES, capabilities)):
        if any(document["android"][key] != value for key, value in facts.items()):
            problems.append(f"{name}: its devices are not those in the journal")
    reproducibility = manifest["reproducibility"]
    if reproducibility["limits"] != opened.settings["limits"]:
        problems.append(f"{MANIFEST}: its limits are not those in the journal")
    problems += [f"{MANIFEST}: {text}" for text in _differs_from_lock(manifest["android"])]
    if manifest["android"] != capabilities["android"]:
        problems.append(f"{CAPABILITIES}: its phone is not that of {MANIFEST}")
    repo = capabilities["repo"]
    if any(reproducibility[key] != repo[key] for key in ("commit", "dirty", "version")):
        problems.append(f"{CAPABILITIES}: its code is not that of {MANIFEST}")
    return problems


def _differs_from_plan(manifest: Document, plan: Plan) -> Iterator[str]:
    """The names of the manifest's fields that differ from the plan."""
    found = manifest["reproducibility"]
    yield from (name for name, value in plan_facts(plan).items() if found[name] != value)
    if manifest["seed"] != plan.seed:
        yield "seed"
    if manifest["agent"]["spec"] != plan.agent:
        yield "agent"


def _differs_from_lock(android: Document) -> Iterator[str]:
    """The fields that differ from the image lock in the manifest, or from the AVD's config.ini."""
    lock, avd = android["image_lock"], android["avd"]
    for name, key in _LOCK_FIELDS.items():
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
        # A field that config.ini lacks is null in the manifest, with a reason.
        if key in config and avd[name] != config[key]:
            yield f"its {name} is not that of its config.ini"
