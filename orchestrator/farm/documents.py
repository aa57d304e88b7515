"""Writes a run's manifest and its environment's capabilities, before the run begins."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ..agent.spec import command_of, remote_facts
from ..pins.agent_card import AgentCard, agent_facts, inference_facts
from ..pins.code_version import repo_facts
from ..pins.host import host_facts
from ..pins.profile import Profile
from ..pins.run_manifest import (
    CAPABILITIES,
    MANIFEST,
    android_facts,
    env_capabilities,
    run_manifest,
)
from ..pins.sdk_tools import sdk_facts
from ..plan.plan import Plan
from ..settings import RunSettings
from .backends import ChosenBackend


def documents(
    plan: Plan,
    settings: RunSettings,
    profile: Profile,
    backend: ChosenBackend,
    folder: Path,
    card: AgentCard | None = None,
) -> dict[str, dict[str, Any]]:
    """By file name, before a device has reported."""
    repo, sdk, now = repo_facts(), sdk_facts(), time.time_ns() // 1_000_000
    command, elsewhere = command_of(plan.agent), remote_facts(plan.agent)
    if elsewhere is not None and backend.agent is not None:
        elsewhere["image_id"] = backend.agent.id
    android = android_facts(
        profile,
        backend.lock,
        emulator=backend.emulator_command(settings.noise),
        adb_version=backend.adb_version,
        sdk=sdk,
    )
    manifest = run_manifest(
        plan, settings, created_ts_ms=now, backend=backend.name,
        agent=agent_facts(plan.agent, command, card, elsewhere),
        inference=inference_facts(command, card, elsewhere),
        repo=repo, android=android,
    )  # fmt: skip
    manifest["reproducibility"]["cases_folder"] = str(folder.resolve())
    host = {**host_facts(), "sdk": sdk}
    capabilities = env_capabilities(created_ts_ms=now, host=host, repo=repo, android=android)
    return {MANIFEST: manifest, CAPABILITIES: capabilities}
