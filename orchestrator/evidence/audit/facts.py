"""Do a run's two documents name all that its results are pinned to?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...pins.host import unknown
from ...pins.run_manifest import CAPABILITIES, MANIFEST
from .finding import Findings
from .reading import Fields

# What the reproducibility contract asks for, by its place; docs/contract.md has a row for each.
FACTS: Mapping[str, tuple[str, ...]] = {
    MANIFEST: (
        "agent.name", "agent.version", "agent.command", "inference",
        "reproducibility.plan_digest", "reproducibility.global_seed", "reproducibility.case_seeds",
        "reproducibility.version", "reproducibility.commit", "reproducibility.dirty",
        "reproducibility.lock_sha256",
        "android.adb_version", "android.emulator_version", "android.sdkmanager_version",
        "android.avdmanager_version", "android.api_level", "android.fingerprint",
        "android.system_image.package", "android.system_image.recipe_sha256",
        "android.system_image.relocatable_sha256",
        "android.avd.name", "android.avd.config_ini", "android.avd.config", "android.avd.cpu_arch",
        "android.avd.ram_mb", "android.avd.disk", "android.avd.width_px", "android.avd.height_px",
        "android.avd.density_dpi", "android.input_method",
        "android.snapshot_tag", "android.snapshot_sha256", "android.image_digest",
        "android.container_image",
    ),
    CAPABILITIES: (
        "host.os", "host.kernel", "host.machine", "host.cpu.model", "host.memory_kb", "host.kvm",
        "host.python", "host.pip", "repo.commit", "repo.dirty", "repo.lock_sha256",
    ),
}  # fmt: skip
_UNKNOWN = unknown("").keys()


def hold(name: str, document: Fields, findings: Findings) -> None:
    for place in FACTS[name]:
        if _at(document, place) in (None, "", {}, []):
            findings.add(name, 0, "fact", f"{place} is not told")
    _reasons(name, document, findings)


def _at(document: Any, place: str) -> Any:
    for key in place.split("."):
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _reasons(name: str, document: Fields, findings: Findings) -> None:
    """Without recursion, and by the key alone: anybody may have nested and named it."""
    waiting: list[tuple[str, Any]] = list(document.items())
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict) and value.keys() == _UNKNOWN:
            if value["value"] is not None or not isinstance(value["why"], str) or not value["why"]:
                findings.add(name, 0, "fact_why", f"{key}: it is known and unknown, or not why")
        elif isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(key, each) for each in value]
        elif value in (None, ""):
            findings.add(name, 0, "fact_why", f"{key} is not told, and nothing says why")
