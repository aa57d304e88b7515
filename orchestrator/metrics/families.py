"""The table of every metric family: its name, kind, help sentence and closed label values.

Everything that is exposed is in it, and docs/metrics.md is written from it. No label ever names an
episode, a device, a Pod or a node; what identifies the run stands in `run_info` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

from ..device.faults import REASONS as DEVICE_FAULTS
from ..outcome import (
    BLAMED_ON_AGENT,
    INCONCLUSIVE_REASONS,
    INFRA_REASONS,
    Cause,
    Outcome,
    Phase,
    Reason,
)

PREFIX = "emufarm_"
OTHER = Reason.OTHER.value  # what nobody classified, in every label that can have it

Source = Literal["journal", "process", "state", "identity"]
LabelValues = tuple[str, ...]  # of one series, in the order of its family's labels


@dataclass(frozen=True)
class Family:
    """`series` are the label values of every series that it can have; () in it means no labels."""

    name: str  # without the prefix
    kind: Literal["counter", "gauge", "histogram", "info"]
    source: Source
    help: str
    labels: tuple[str, ...] = ()
    series: tuple[LabelValues, ...] = ((),)
    bounds: tuple[float, ...] = ()  # of a histogram's buckets, in seconds

    @property
    def full_name(self) -> str:
        return PREFIX + self.name

    @property
    def count(self) -> int:
        """How many series Prometheus stores of it at most: a histogram's buckets, sum and count."""
        return len(self.series) * (len(self.bounds) + 3 if self.kind == "histogram" else 1)


def _values(*labels: object) -> tuple[LabelValues, ...]:
    """Every combination of the values of each label; a label's values are sorted."""
    return tuple(product(*(sorted(map(str, values)) for values in labels)))  # type: ignore[call-overload]


_VARIANTS = ("attack", "benign")
_INFRA = tuple(
    (phase.value, reason)
    for phase in Phase
    for reason in sorted({OTHER, *(each.value for each in INFRA_REASONS.get(phase, ()))})
)
# A worker reports a boot by what its device answered, a fleet by what its backend saw.
START_REASONS: Mapping[str, frozenset[str]] = {
    "provision": frozenset(set(Cause) - {Cause.UNKNOWN}) | {OTHER},
    "boot": DEVICE_FAULTS | {Reason.PIN_MISMATCH.value, OTHER},
}
_STARTS = tuple(
    (phase, str(reason)) for phase, reasons in START_REASONS.items() for reason in sorted(reasons)
)
ATTEMPT_PHASES = ("reset", "setup", "agent", "oracle")
DEVICE_STATES = ("starting", "idle", "busy", "queued", "quarantined")
EPISODE_STATES = ("pending", "leased", "decided")
IDENTITY = ("run", "plan", "profile", "image", "agent", "backend", "version")

EPISODES_DECIDED = Family(
    "episodes_decided_total", "counter", "journal",
    "Episodes that have their final outcome.",
    ("variant", "outcome"), _values(_VARIANTS, Outcome),
)  # fmt: skip
ATTEMPTS = Family(
    "attempts_total", "counter", "journal",
    "Attempts that ended, with a bundle or without, by their outcome.",
    ("outcome",), _values(Outcome),
)  # fmt: skip
INFRA_FAILURES = Family(
    "infra_failures_total", "counter", "journal",
    "Attempts that infrastructure failed; never part of a score.",
    ("phase", "reason"), _INFRA,
)  # fmt: skip
AGENT_FAILURES = Family(
    "agent_failures_total", "counter", "journal",
    "Attempts that their agent failed: it did not do the task, or broke its protocol.",
    ("reason",), _values({*BLAMED_ON_AGENT, OTHER}),
)  # fmt: skip
INCONCLUSIVE = Family(
    "inconclusive_total", "counter", "journal",
    "Attempts whose success nobody knows, and which are not tried again.",
    ("reason",), _values(INCONCLUSIVE_REASONS),
)  # fmt: skip
DEVICE_STARTS = Family(
    "device_starts_total", "counter", "journal",
    "Starts of devices; a start is no attempt.",
    ("result",), _values(("failed", "started")),
)  # fmt: skip
DEVICE_START_FAILURES = Family(
    "device_start_failures_total", "counter", "journal",
    "Starts of devices that failed: before there was one, or while it booted.",
    ("phase", "reason"), _STARTS,
)  # fmt: skip
DEVICES_LOST = Family(
    "devices_lost_total", "counter", "journal",
    "Devices that were lost after their start, or whose worker was, by what the backend saw.",
    ("cause",), _values(Cause),
)  # fmt: skip
RETRIES = Family(
    "retries_total", "counter", "journal",
    "Attempts beyond the first of their episode, as they end.",
)  # fmt: skip
QUARANTINES = Family(
    "quarantines_total", "counter", "journal",
    "Devices that were taken out of leasing, because several episodes in a row failed on them.",
)  # fmt: skip
LEASES_EXPIRED = Family(
    "leases_expired_total", "counter", "journal",
    "Leases that were not renewed in time; each is an infrastructure failure too.",
)  # fmt: skip
FENCED = Family(
    "fenced_total", "counter", "journal",
    "Bundles that came after their lease had ended; stored, never scored.",
)  # fmt: skip
VIOLATIONS = Family(
    "violations_total", "counter", "journal",
    "Episodes decided with a forbidden effect that an oracle saw.",
    ("variant",), _values(_VARIANTS),
)  # fmt: skip
EVIDENCE_BYTES = Family(
    "evidence_bytes_total", "counter", "journal",
    "Bytes of the bundles that were stored, fenced ones included.",
)  # fmt: skip
DEVICE_SECONDS = Family(
    "device_seconds_total", "counter", "journal",
    "Seconds of devices: boots, the phases of attempts, what is in no phase of them (evidence), "
    "and attempts that were lost without a bundle (agent).",
    ("phase",), _values(("boot", "evidence", *ATTEMPT_PHASES)),
)  # fmt: skip
DEVICE_SECONDS_LOST = Family(
    "device_seconds_lost_total", "counter", "journal",
    "Of these, the seconds of attempts that infrastructure failed.",
)  # fmt: skip
BOOT_SECONDS = Family(
    "boot_seconds", "histogram", "journal",
    "From an emulator's start until its worker found the phone ready.",
    bounds=(1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300),
)  # fmt: skip
PHASE_SECONDS = Family(
    "phase_seconds", "histogram", "journal",
    "Each phase that an attempt with a bundle went through.",
    ("phase",), tuple((phase,) for phase in ATTEMPT_PHASES),
    bounds=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
)  # fmt: skip
ATTEMPT_SECONDS = Family(
    "attempt_seconds", "histogram", "journal",
    "Attempts with a bundle, from their beginning to their end.",
    bounds=(1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600),
)  # fmt: skip
COMMIT_SECONDS = Family(
    "commit_seconds", "histogram", "process",
    "Commits, from the whole upload to the synced journal line; of this process alone.",
    bounds=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)  # fmt: skip
JOURNAL_SYNC_SECONDS = Family(
    "journal_sync_seconds", "histogram", "process",
    "Writes of the journal with their sync; of this process alone.",
    bounds=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)  # fmt: skip
EPISODES = Family(
    "episodes", "gauge", "state",
    "Episodes that wait for a lease, have one, or are decided.",
    ("state",), tuple((state,) for state in EPISODE_STATES),
)  # fmt: skip
DEVICES = Family(
    "devices", "gauge", "state",
    "Devices that are being started, wait for an episode, have one, wait in a cluster's queue, or "
    "are in quarantine since this coordinator began.",
    ("state",), tuple((state,) for state in DEVICE_STATES),
)  # fmt: skip
DEVICES_WANTED = Family(
    "devices_wanted", "gauge", "state",
    "Devices that the run shall have: what was asked for, at most one for each undecided episode; "
    "0 while its devices are scaled to none, and once it has ended.",
)  # fmt: skip
OLDEST_LEASE = Family(
    "oldest_lease_seconds", "gauge", "state",
    "Age of the oldest open lease; 0 where there is none.",
)  # fmt: skip
ETA = Family(
    "eta_seconds", "gauge", "state",
    "Time left at this run's own pace; NaN while that is not known.",
)  # fmt: skip
VOLUME_FREE = Family(
    "volume_free_bytes", "gauge", "state",
    "Room on the disk of the run's folder; NaN where it does not answer.",
)  # fmt: skip
VOLUME_SIZE = Family(
    "volume_size_bytes", "gauge", "state",
    "Size of that disk; NaN where it does not answer.",
)  # fmt: skip
STUCK = Family(
    "stuck", "gauge", "state",
    "1 while episodes wait, none is leased, and every device is in quarantine.",
)  # fmt: skip
RUN_OVER = Family(
    "run_over", "gauge", "state",
    "1 once the run has ended, so that nobody misses its coordinator.",
)  # fmt: skip
RUN_START_TIME = Family(
    "run_start_time_seconds", "gauge", "identity",
    "Unix time at which the run was first started; a resume does not change it. A counter that is "
    "first seen later than that did not begin at 0.",
)  # fmt: skip
RUN_INFO = Family(
    "run_info", "info", "identity",
    "1; what this run is, to be joined with the other families.",
    IDENTITY,
)  # fmt: skip

FAMILIES = (
    EPISODES_DECIDED, ATTEMPTS, INFRA_FAILURES, AGENT_FAILURES, INCONCLUSIVE, DEVICE_STARTS,
    DEVICE_START_FAILURES, DEVICES_LOST, RETRIES, QUARANTINES, LEASES_EXPIRED, FENCED, VIOLATIONS,
    EVIDENCE_BYTES, DEVICE_SECONDS, DEVICE_SECONDS_LOST, BOOT_SECONDS, PHASE_SECONDS,
    ATTEMPT_SECONDS, COMMIT_SECONDS, JOURNAL_SYNC_SECONDS, EPISODES, DEVICES, DEVICES_WANTED,
    OLDEST_LEASE, ETA, VOLUME_FREE, VOLUME_SIZE, STUCK, RUN_OVER, RUN_START_TIME, RUN_INFO,
)  # fmt: skip
