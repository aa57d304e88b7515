"""Verifies a run's plan against itself, and its manifest and capabilities against the rest. Pure.

The plan's digest proves that this plan was run. The checks of the plan prove that nobody chose the
values: each case has the digest of its content, and each episode is planned once, with the seed
that the global seed gives.

Plan, journal, image lock, manifest and capabilities repeat some facts: where a fact was found, and
where readers look for it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from ...cases.load import case_digest
from ...cases.model import Case
from ...coordinator.transitions import RunOpened
from ...pins.image_lock import parse_ini
from ...pins.run_manifest import (
    AVD_KEYS,
    CAPABILITIES,
    MANIFEST,
    device_facts,
    host_facts_of,
    plan_facts,
)
from ...pins.sdk_tools import adb_release
from ...plan.plan import Plan, PlannedCase, episode
from ...plan.store import FILE as PLAN

JsonDocument = Mapping[str, Any]
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


def plan_problems(plan: Plan) -> list[str]:
    """One sentence for each contradiction."""
    problems: list[str] = []
    cases: dict[str, Case] = {}
    for one in plan.cases:
        try:
            cases[one.id] = _case(one)
        except ValueError as error:
            problems.append(f"{PLAN}: {one.id}: {error}")
    for id, times in Counter(each.id for each in plan.episodes).items():
        if times > 1:
            problems.append(f"{PLAN}: {id} is planned {times} times")
    for each in plan.episodes:
        case = cases.get(each.case)
        if case is None or each.variant not in case.variants:
            problems.append(f"{PLAN}: {each.id} has no planned case and variant")
        elif not 1 <= each.repeat <= plan.repeats:
            problems.append(f"{PLAN}: {each.id} exceeds {plan.repeats} repeats")
        elif each != episode(case, each.variant, each.repeat, plan.seed):
            problems.append(f"{PLAN}: {each.id} does not follow from its case and the seed")
    return problems


def _case(planned: PlannedCase) -> Case:
    """The case; ValueError if its id or digest is another."""
    try:
        case = Case.model_validate(planned.case)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"it is not a valid case: {where}: {first['msg']}") from error
    if case.id != planned.id or case_digest(case, planned.site) != planned.digest:
        raise ValueError("its digest is not that of the case")
    return case


def disagreements(
    manifest: JsonDocument,
    capabilities: JsonDocument,
    plan: Plan,
    opened: RunOpened,
    devices: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """One sentence for each contradiction; KeyError or TypeError if a document is malformed."""
    reproducibility = manifest["reproducibility"]
    repeated = reproducibility | {"seed": manifest["seed"], "agent": manifest["agent"]["spec"]}
    planned = plan_facts(plan) | {"seed": plan.seed, "agent": plan.agent}
    problems = [
        f"{MANIFEST}: its {name} is not that of the plan"
        for name, value in planned.items()
        if repeated[name] != value
    ]
    facts = device_facts(devices)
    for name, document in ((MANIFEST, manifest), (CAPABILITIES, capabilities)):
        if any(document["android"][key] != value for key, value in facts.items()):
            problems.append(f"{name}: its devices are not those in the journal")
    hosts = host_facts_of(devices)
    if any(capabilities["host"][key] != value for key, value in hosts.items()):
        problems.append(f"{CAPABILITIES}: its host is not that of the devices in the journal")
    if reproducibility["limits"] != opened.settings["limits"]:
        problems.append(f"{MANIFEST}: its limits are not those in the journal")
    problems += [f"{MANIFEST}: {text}" for text in _differs_from_lock(manifest["android"])]
    if manifest["android"] != capabilities["android"]:
        problems.append(f"{CAPABILITIES}: its phone is not that of {MANIFEST}")
    repo = capabilities["repo"]
    if any(reproducibility[key] != repo[key] for key in ("commit", "dirty", "version")):
        problems.append(f"{CAPABILITIES}: its code is not that of {MANIFEST}")
    return problems


def _differs_from_lock(android: JsonDocument) -> Iterator[str]:
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
