"""A run's own documents: written before the run begins, completed and sealed at its end."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from ..agent.masking import is_masked, masked_digest, masked_words
from ..agent.spec import command_of, remote_facts
from ..coordinator import chain, durations
from ..coordinator.coordinator import Coordinator
from ..errors import UsageError
from ..files import write_json
from ..pins import proofs
from ..pins.agent_card import AgentCard, agent_facts, inference_facts
from ..pins.code_version import repo_facts
from ..pins.run_manifest import (
    CAPABILITIES,
    MANIFEST,
    add_device_facts,
    android_facts,
    env_capabilities,
    run_manifest,
)
from ..pins.sdk_tools import sdk_facts, unknown_sdk
from ..plan.store import FILE as PLAN
from ..plan.store import write_plan
from ..report.verify.run_folder import documents_to_seal, latest_device_facts
from .backends import CLUSTER
from .job import Job


def write_documents(job: Job, cases: Path, card: AgentCard | None) -> None:
    """The run's folder with all that is known before it begins; the plan is written last."""
    try:
        job.run.mkdir(parents=True, exist_ok=True)
        for file, content in documents(job, cases, card).items():
            write_json(job.run / file, content)
        write_plan(job.run / PLAN, job.plan)
    except OSError as error:
        raise UsageError(f"cannot write the run to {job.run}: {error.strerror}") from error


def documents(job: Job, cases: Path, card: AgentCard | None) -> dict[str, dict[str, Any]]:
    """By file name, before a device has reported."""
    means = durations.measured_means(job.run.parent, job.plan.agent)
    plan, settings, backend = job.plan, job.settings, job.backend
    repo, now = repo_facts(), time.time_ns() // 1_000_000
    # A cluster's phones are not on this machine; what their image was made of is in its lock.
    sdk = sdk_facts() if backend.name != CLUSTER else unknown_sdk("the run is on a cluster")
    command, elsewhere = command_of(job.agent), remote_facts(plan.agent)
    if elsewhere is not None and backend.agent is not None:
        elsewhere["image_id"] = backend.agent.id
    android = android_facts(
        job.profile,
        backend.lock,
        emulator=backend.emulator_command(settings.noise),
        adb_version=backend.adb_version,
        sdk=sdk,
    )
    manifest = run_manifest(
        plan, settings, created_ts_ms=now, backend=backend.name,
        agent=agent_facts(
            plan.agent, command, card, elsewhere, masked_words(command),
            job.confinement.as_json() if job.confinement else None,
        ),
        inference=inference_facts(command, card, elsewhere),
        repo=repo, android=android,
    )  # fmt: skip
    known = proofs.proven(job.run.parent / proofs.NAME, backend.lock.digest, plan.cases)
    if is_masked(plan.agent):
        manifest["agent"]["masked_digest"] = masked_digest(job.agent, plan.digest)
    manifest["reproducibility"] |= {"cases_folder": str(cases.resolve()), "proven": known}
    capabilities = env_capabilities(created_ts_ms=now, sdk=sdk, repo=repo, android=android)
    return {
        MANIFEST: manifest,
        CAPABILITIES: capabilities,
        durations.FILE: durations.as_json(means),
    }


async def seal(run: Path, coordinator: Coordinator) -> None:
    """Completes the documents, then writes the journal's last line over them.

    The caller has ended the fleet, and every episode is decided. A coordinator that died in between
    does it again at the next resume. After the seal only the report, which is derived, is written.
    """
    if coordinator.state.sealed:
        return
    await coordinator.require_claim()
    await asyncio.to_thread(record_devices, run)
    await coordinator.seal(await asyncio.to_thread(documents_to_seal, run))


def record_devices(run: Path) -> None:
    """Adds each device's own facts, which are in the journal by now."""
    events = (line.event for line in chain.JournalReader(run / chain.FOLDER))
    add_device_facts(run, latest_device_facts(events))
