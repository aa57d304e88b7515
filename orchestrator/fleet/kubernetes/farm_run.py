"""A run's FarmRun: its body, its status and its events as JSON. Pure."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import names
from .api import Json, ObjectKind

GROUP, VERSION, KIND = "emufarm.dev", "v1alpha1", "FarmRun"
FARM_RUNS = ObjectKind(f"apis/{GROUP}/{VERSION}", "farmruns")
COORDINATOR = "emufarm-coordinator"
MESSAGE_LIMIT = 1000  # characters

RunPhase = Literal["Pending", "Running", "Paused", "Complete", "Failed", "Cancelled"]
_FAILED = ("Failed", "Cancelled")
UNREADABLE = "Unreadable"  # the run's folder is, for every coordinator: no other can serve it


@dataclass(frozen=True)
class FarmRunSpec:
    """What is run; only `devices` and `cancel` can change."""

    plan: str
    profile: str
    image: str  # by digest
    worker_image: str
    agent: str
    episodes: int
    version: str
    devices: int
    keep_s: int | None = None

    def body(self, run: str) -> Json:
        spec: Json = {
            "plan": self.plan, "profile": self.profile, "image": self.image,
            "workerImage": self.worker_image, "agent": self.agent, "episodes": self.episodes,
            "version": self.version, "devices": self.devices,
        }  # fmt: skip
        if self.keep_s is not None:
            spec["keepSeconds"] = self.keep_s
        labels = {**names.PART_OF, names.RUN: run}
        return {
            "apiVersion": f"{GROUP}/{VERSION}", "kind": KIND,
            "metadata": {"name": run, "labels": labels}, "spec": spec,
        }  # fmt: skip


def owner_reference(farm_run: Mapping[str, Any]) -> Json:
    """For all that goes with the FarmRun."""
    about = farm_run["metadata"]
    return {
        "apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "name": about["name"],
        "uid": about["uid"], "controller": True,
    }  # fmt: skip


@dataclass(frozen=True)
class RunStanding:
    """How a run stands, beside what its coordinator's view says."""

    phase: RunPhase = "Pending"
    message: str = ""
    pulled_at: str = ""  # "" where nobody has all of it
    reason: str = ""  # of its condition, where the phase does not say it: UNREADABLE


def ended_standing(farm_run: Mapping[str, Any]) -> RunStanding | None:
    """As its status has it; None where it has not ended."""
    found = farm_run.get("status") or {}
    phase = found.get("phase")
    if phase not in ("Complete", *_FAILED):
        return None
    pulled_at = str(found.get("pulledAt") or "")
    return RunStanding(phase, str(found.get("message") or ""), pulled_at)


def status(
    run: str, standing: RunStanding, view: Mapping[str, Any] | None, before: Mapping[str, Any],
    now: str, generation: int = 0,
) -> Json:  # fmt: skip
    """The merge patch of it. `view` is the coordinator's, None before there is one; `before` the
    status that is there: a condition that has not changed keeps its time. `generation`: of the
    FarmRun whose spec was read last."""
    body: Json = {
        "phase": standing.phase,
        "message": standing.message[:MESSAGE_LIMIT],
        "selector": names.run_selector(run, "device"),
        "pulled": bool(standing.pulled_at),
        "pulledAt": standing.pulled_at or None,  # None removes it: a resumed run has more to pull
        "conditions": _conditions(standing, before.get("conditions") or [], now, generation),
    }
    if view is not None:
        counts = view["device_counts"]
        ended = standing.phase in ("Complete", *_FAILED)
        body |= {
            "done": f"{view['decided']}/{view['total']}",
            "decided": view["decided"],
            "total": view["total"],
            "success": view["outcomes"].get("success", 0),
            "infra": view["infra_attempts"],
            "devices": 0 if ended else counts["busy"] + counts["idle"],
        }
        if "claim" in view:
            body["claim"] = view["claim"]
    return body


def _conditions(
    standing: RunStanding, before: Sequence[Json], now: str, generation: int
) -> list[Json]:
    times = {one.get("type"): one for one in before}
    complete, failed = standing.phase == "Complete", standing.phase in _FAILED
    made = []
    for kind, holds in (("Complete", complete), ("Failed", failed)):
        state = "True" if holds else "False"
        old = times.get(kind) or {}
        since = old.get("lastTransitionTime") if old.get("status") == state else None
        made.append({
            "type": kind, "status": state, "reason": standing.reason or standing.phase,
            "observedGeneration": generation,
            "message": standing.message[:MESSAGE_LIMIT] if holds else "",
            "lastTransitionTime": since or now,
        })  # fmt: skip
    return made


def event(farm_run: Mapping[str, Any], reason: str, message: str, *, warning: bool) -> Json:
    """For `kubectl describe`, and for whoever collects events."""
    about, now = farm_run["metadata"], timestamp()
    return {
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"generateName": f"{about['name']}-"},
        "involvedObject": {
            "apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "name": about["name"],
            "namespace": about["namespace"], "uid": about["uid"],
        },
        "reason": reason, "message": message[:MESSAGE_LIMIT],
        "type": "Warning" if warning else "Normal", "count": 1,
        "firstTimestamp": now, "lastTimestamp": now, "source": {"component": COORDINATOR},
    }  # fmt: skip


def timestamp() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
