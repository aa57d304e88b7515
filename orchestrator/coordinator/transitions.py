"""The transitions of a run, as the journal records them and the report reads them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ..outcome import NO_EFFORT, Cause, Effort, EmulatorAge, Judgement, Reason


class Transition(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SealedSegment(Transition):
    """The content of a segment when the next one was opened; bytes behind it never count."""

    name: str
    length: int
    sha256: str
    last_seq: int
    cut: int  # bytes of a torn last line, which stay in the file


class SegmentOpened(Transition):
    """A coordinator started. It clears the quarantine and the failures of all devices."""

    event: Literal["segment_opened"] = "segment_opened"
    claim: int  # of the coordinator that writes it; the segment is named by it
    sealed: SealedSegment | None


class RunOpened(Transition):
    event: Literal["run_opened"] = "run_opened"
    run: str = ""  # its name when it started: a copied folder may have another name
    plan: str  # its digest
    agent: str
    profile: str
    episodes: int
    settings: dict[str, Any]


class DeviceStarted(Transition):
    event: Literal["device_started"] = "device_started"
    device: str
    report_id: str  # of the report; a repeated report is no other start
    worker: str = ""
    boot_s: float | None = None  # from its emulator's start until its worker found it ready
    facts: dict[str, Any] = {}


class DeviceFailed(Transition):
    """A device did not start. It is no attempt."""

    event: Literal["device_failed"] = "device_failed"
    device: str
    report_id: str
    phase: Literal["provision", "boot"]
    reason: str
    cause: Cause = Cause.UNKNOWN
    exit_code: int | None = None
    text: str = ""


class DeviceLost(Transition):
    """The fleet lost a device, which gets no lease until it starts again, or only its worker."""

    event: Literal["device_lost"] = "device_lost"
    device: str
    reason: Reason
    cause: Cause = Cause.UNKNOWN
    exit_code: int | None = None
    text: str = ""


class DeviceQuarantined(Transition):
    event: Literal["device_quarantined"] = "device_quarantined"
    device: str
    text: str


class LeaseGranted(Transition):
    event: Literal["lease_granted"] = "lease_granted"
    token: str
    episode: str
    attempt: int
    device: str
    worker: str
    request_id: str  # of the lease request; repeated, it gets the same lease


class UnconfinedAgent(Transition):
    """An attempt is about to start an agent that can reach its worker. A loss that nothing confirms
    may be the agent's doing from now on, and earns no other attempt."""

    event: Literal["unconfined_agent"] = "unconfined_agent"
    token: str
    episode: str
    attempt: int
    device: str


class LeaseReturned(Transition):
    """A lease was given back by its worker, or by a resume: the attempt never happened."""

    event: Literal["lease_returned"] = "lease_returned"
    token: str
    episode: str
    attempt: int
    device: str
    reason: str


class AttemptLost(Transition):
    """An attempt ended without a bundle: its lease expired, or its worker or device is gone."""

    event: Literal["attempt_lost"] = "attempt_lost"
    token: str
    episode: str
    attempt: int
    device: str
    held_s: float  # since its lease was granted, or since this coordinator began
    judgement: Judgement


class BundleStored(Transition):
    """An attempt whose bundle was verified and durable before this line."""

    token: str
    episode: str
    attempt: int
    device: str
    judgement: Judgement
    started_ms: int
    ended_ms: int
    durations: dict[str, float] = {}
    effort: Effort = NO_EFFORT
    age: EmulatorAge | None = None
    manifest: str  # digest of the bundle's MANIFEST.json
    bundle: str  # its folder, from the run's
    bundle_bytes: int = Field(ge=0)  # of all its files, the manifest included


class AttemptCommitted(BundleStored):
    event: Literal["attempt_committed"] = "attempt_committed"


class AttemptFenced(BundleStored):
    """A bundle that came after its lease had ended: stored, never scored."""

    event: Literal["attempt_fenced"] = "attempt_fenced"


class EpisodeDecided(Transition):
    event: Literal["episode_decided"] = "episode_decided"
    episode: str
    judgement: Judgement
    attempt: int  # the deciding one, which is the last
    bundle: str  # "": the attempt was lost without a bundle


class EvidenceMissing(Transition):
    """A stored bundle was gone or damaged when a coordinator began, and somebody said to go on
    without it. What it was scored stays; the report names it."""

    event: Literal["evidence_missing"] = "evidence_missing"
    token: str
    episode: str
    attempt: int
    bundle: str
    problem: str


class RunSealed(Transition):
    """The journal's last line: every episode is decided, and no line may follow."""

    event: Literal["run_sealed"] = "run_sealed"
    plan: str
    decided: int
    files: dict[str, str] = {}  # the run's own documents, by name -> sha256


Event = Annotated[
    SegmentOpened
    | RunOpened
    | DeviceStarted
    | DeviceFailed
    | DeviceLost
    | DeviceQuarantined
    | LeaseGranted
    | UnconfinedAgent
    | LeaseReturned
    | AttemptLost
    | AttemptCommitted
    | AttemptFenced
    | EpisodeDecided
    | EvidenceMissing
    | RunSealed,
    Field(discriminator="event"),
]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
