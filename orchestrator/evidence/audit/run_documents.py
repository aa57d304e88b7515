"""Rules for a run's two documents: their fields, required facts and reasons for unknown ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...pins.host import unknown
from ...pins.image_lock import marker_text
from ...pins.run_manifest import CAPABILITIES, MANIFEST
from .actions import LEVELS
from .fields import check_document
from .reader import EvidenceFolder, Fields
from .rules import Findings
from .state import RunFacts

# What the reproducibility contract requires, by its path; docs/contract.md has a row for each.
REQUIRED: Mapping[str, tuple[str, ...]] = {
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


def check_run_documents(folder: EvidenceFolder) -> RunFacts:
    """Check both documents; the facts that the run's bundles are checked against."""
    facts = RunFacts()
    run = folder.document(MANIFEST)
    if run is not None and check_document(MANIFEST, run, folder.findings):
        level, image = run["action_trace_level"], _image(run["android"].get("image_lock"))
        seeds = run["reproducibility"].get("case_seeds")
        if level not in LEVELS:
            text = f"it is not one of {', '.join(LEVELS)}"
            folder.findings.add(MANIFEST, 0, "trace_level", text)
            level = facts.level
        if image is None:
            text = "android.image_lock must name snapshot, boot_id, fingerprint and nonce"
            folder.findings.add(MANIFEST, 0, "field_type", text)
        if not isinstance(seeds, dict):
            text = "reproducibility.case_seeds must name each episode's seed"
            folder.findings.add(MANIFEST, 0, "field_type", text)
            seeds = None
        facts = RunFacts(level, image, seeds)
        if not folder.findings.found:  # a broken document is reported only once
            _check_facts(MANIFEST, run, folder.findings)
    host = folder.document(CAPABILITIES)
    if host is not None and check_document(CAPABILITIES, host, folder.findings):
        _check_facts(CAPABILITIES, host, folder.findings)
    return facts


def _image(lock: object) -> dict[str, str] | None:
    """The values that a proven reset must show, from the image lock; None if it lacks any."""
    names = ("snapshot", "boot_id", "fingerprint", "nonce")
    fields = lock if isinstance(lock, dict) else {}
    parts = [fields[name] for name in names if isinstance(fields.get(name), str)]
    if len(parts) < len(names) or not all(part.isascii() for part in parts):
        return None
    tag, boot_id, fingerprint, nonce = parts
    return {
        "snapshot_tag": tag,
        "boot_id": boot_id,
        "fingerprint": fingerprint,
        "marker": marker_text(tag, nonce),
    }


def _check_facts(name: str, document: Fields, findings: Findings) -> None:
    for path in REQUIRED[name]:
        if _at(document, path) in (None, "", {}, []):
            findings.add(name, 0, "fact", f"{path} is missing")
    _check_reasons(name, document, findings)


def _at(document: Any, path: str) -> Any:
    for key in path.split("."):
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _check_reasons(name: str, document: Fields, findings: Findings) -> None:
    """Every unknown value has a reason.

    Without recursion, and with only the last key in a finding: the document may be nested deeply.
    """
    waiting: list[tuple[str, Any]] = list(document.items())
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict) and value.keys() == _UNKNOWN:
            if value["value"] is not None or not isinstance(value["why"], str) or not value["why"]:
                text = f"{key}: it has a value beside its reason, or no reason"
                findings.add(name, 0, "fact_why", text)
        elif isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(key, each) for each in value]
        elif value in (None, ""):
            findings.add(name, 0, "fact_why", f"{key} is empty, and no reason is given")
