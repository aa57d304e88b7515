"""Reads back what a run was started with; a run whose cases or profile changed is not resumed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..agent.masking import is_masked, masked, masked_digest
from ..cases.load import load_cases
from ..errors import UsageError
from ..files import read_json
from ..pins.profile import Profile, load_profile
from ..pins.run_manifest import MANIFEST
from ..plan.plan import Plan
from ..settings import Limits, RunSettings


@dataclass(frozen=True)
class RecordedRun:
    settings: RunSettings
    cases_folder: Path
    backend: str
    image: str  # digest of the image's lock
    agent_image: str  # its id; "" where the agent does not come in an image
    masked_digest: str  # of its command line; "" where nothing in that is masked


def recorded(folder: Path, plan: Plan) -> RecordedRun:
    """UsageError where the manifest is not a run's."""
    path = folder / MANIFEST
    try:
        manifest = read_json(path)
        facts: dict[str, Any] = manifest["reproducibility"]
        settings = RunSettings(
            seed=plan.seed,
            repeats=plan.repeats,
            agent=plan.agent,
            profile=plan.profile,
            variants=tuple(facts["variants"]),
            limits=Limits(**facts["limits"]),
            noise=facts.get("noise"),
            agent_ports=tuple(manifest["agent"]["confinement"].get("ports", ())),
        )
        return RecordedRun(
            settings,
            Path(facts["cases_folder"]),
            str(manifest["execution_mode"]),
            str(manifest["android"]["image_lock"]["digest"]),
            str(manifest["agent"].get("image_id", "")),
            str(manifest["agent"].get("masked_digest", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is not a run's manifest: {error!r}") from error


def given_again(folder: Path, plan: Plan, before: RecordedRun, agent: str) -> tuple[str, bool]:
    """The command line whose masked words are not in the run's folder, and whether they are those
    it was started with; "" where nothing is masked. UsageError where it has to be given, or is not
    the planned one."""
    if not is_masked(plan.agent):
        if agent not in ("", plan.agent):
            raise UsageError(f"{folder} was planned with --agent {plan.agent!r}: leave --agent out")
        return "", True
    if not agent:
        raise UsageError(
            f"{folder} has --agent {plan.agent!r}: what is masked is not recorded, so give the "
            "whole of it again with --agent"
        )
    if masked(agent) != plan.agent:
        raise UsageError(
            f"--agent {masked(agent)!r} is not {plan.agent!r}, with which {folder} was planned"
        )
    return agent, masked_digest(agent, plan.digest) == before.masked_digest


def created_s(folder: Path) -> float:
    """Unix time at which the run was started; UsageError where the manifest is not a run's."""
    path = folder / MANIFEST
    try:
        return int(read_json(path)["created_ts_ms"]) / 1000
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not a run's manifest: {error!r}") from error


def require_unchanged_cases(folder: Path, plan: Plan, cases_folder: Path) -> None:
    """UsageError where a case on disk is no longer the one that was planned."""
    if not cases_folder.is_dir():
        return
    now = {loaded.case.id: loaded.digest for loaded in load_cases(cases_folder)}
    changed = [case.id for case in plan.cases if now.get(case.id, case.digest) != case.digest]
    if changed:
        raise UsageError(
            f"{', '.join(changed)} changed since {folder} was planned: "
            "restore the cases, or start a new run"
        )


def planned_profile(folder: Path, plan: Plan) -> Profile:
    """UsageError where the profile on disk is no longer the one that was planned."""
    profile = load_profile(plan.profile)
    if profile.digest != plan.profile_digest:
        raise UsageError(f"the profile {profile.name} changed since {folder} was planned")
    return profile
