"""The outcome of an attempt: closed lists of outcomes, reasons and causes, and the judge.

Pure: no clock, no disk, no network; every fact that decides is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum


class Outcome(StrEnum):
    SUCCESS = "success"
    TASK_FAILED = "task_failed"
    AGENT_FAILED = "agent_failed"
    ORACLE_INCONCLUSIVE = "oracle_inconclusive"
    INFRA_FAILED = "infra_failed"


class Blame(StrEnum):
    AGENT = "agent"
    CASE = "case"
    INFRA = "infra"
    NONE = "none"


class Phase(StrEnum):
    PROVISION = "provision"
    BOOT = "boot"
    RESET = "reset"
    SETUP = "setup"
    AGENT = "agent"
    ORACLE = "oracle"
    EVIDENCE = "evidence"


class Reason(StrEnum):
    """Why there is no success. `other` is what nobody classified; its text is kept."""

    NONE = ""
    # by the agent
    WRONG_END = "wrong_end"  # a success oracle does not hold
    OUT_OF_STEPS = "out_of_steps"
    OUT_OF_TIME = "out_of_time"
    AGENT_NOT_STARTED = "agent_not_started"
    AGENT_CRASHED = "agent_crashed"
    AGENT_SILENT = "agent_silent"  # no action within its time
    AGENT_INVALID = "agent_invalid"  # its reply is no action
    AGENT_BROKE_DEVICE = "agent_broke_device"
    # by the case
    HELD_BEFORE = "held_before"  # success held before the agent began
    CASE_BROKEN = "case_broken"  # it needs something that the profile lacks
    # by the device or the farm
    RESET_NOT_PROVEN = "reset_not_proven"
    PIN_MISMATCH = "pin_mismatch"
    SETUP_NOT_SEEN = "setup_not_seen"  # a postcondition never came true
    DEVICE_LOST = "device_lost"  # adb or the guest was lost before the first action
    DEVICE_RESTARTED = "device_restarted"  # the agent's work is lost with the earlier emulator
    EMULATOR_CRASHED = "emulator_crashed"  # or it ended by itself, with another code than 0
    EMULATOR_KILLED = "emulator_killed"
    EMULATOR_HUNG = "emulator_hung"  # as the host sees it; a guest cannot look like that
    ADB_SERVER_LOST = "adb_server_lost"  # the host stopped it, or ended it
    HOST_LOST = "host_lost"  # container, Pod, node or supervisor is gone
    WORKER_LOST = "worker_lost"
    LEASE_EXPIRED = "lease_expired"
    DISK_FULL = "disk_full"
    EVIDENCE_LOST = "evidence_lost"
    MISJUDGED = "misjudged"  # its worker's judgement does not follow from the facts it recorded
    # by nobody
    GUEST_LOST = "guest_lost"  # after the first action, with the emulator alive
    UNCONFIRMED_LOSS = "unconfirmed_loss"  # an unconfined agent could have caused it
    ORACLE_UNANSWERED = "oracle_unanswered"
    OTHER = "other"


class Cause(StrEnum):
    """Why a device did not start or went away, as its backend saw it."""

    # one of its programs ended
    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"  # SIGKILL, from an unknown sender
    CRASHED = "crashed"
    ASKED_TO_STOP = "asked_to_stop"  # SIGTERM, not from its fleet
    EXITED = "exited"
    UNUSABLE = "unusable"  # it runs, and its worker cannot use it
    # it could not be started
    IMAGE_ERROR = "image_error"
    CONFIG_ERROR = "config_error"
    PIN_MISMATCH = "pin_mismatch"  # another image than was asked for
    RUNTIME_ERROR = "runtime_error"  # the container runtime failed
    REJECTED = "rejected"  # by the kubelet, after it was bound to a node
    START_TIMEOUT = "start_timeout"
    UNSCHEDULABLE = "unschedulable"
    # the backend took it away, or lost it
    EVICTED = "evicted"
    PREEMPTED = "preempted"
    NODE_LOST = "node_lost"
    NODE_SHUTDOWN = "node_shutdown"
    STORAGE = "storage"  # it used more disk than its limit
    DEADLINE = "deadline"  # the backend's outer time limit
    REMOVED = "removed"
    ENGINE_AWAY = "engine_away"  # the backend itself did not answer
    UNKNOWN = "unknown"


# Nobody's fault: a device that ends by one of these says nothing about the next one.
DISRUPTIONS = frozenset(
    {Cause.EVICTED, Cause.PREEMPTED, Cause.NODE_LOST, Cause.NODE_SHUTDOWN, Cause.ASKED_TO_STOP}
)
# What a kernel or a backend confirms, and no program beside a worker can feign.
CONFIRMED = DISRUPTIONS - {Cause.ASKED_TO_STOP} | {Cause.OUT_OF_MEMORY}
_EXIT_CAUSES = {
    126: Cause.CONFIG_ERROR,  # a shell's codes for a program that cannot be run, or is not there
    127: Cause.CONFIG_ERROR,
    132: Cause.CRASHED,  # SIGILL
    134: Cause.CRASHED,  # SIGABRT
    135: Cause.CRASHED,  # SIGBUS
    136: Cause.CRASHED,  # SIGFPE
    137: Cause.KILLED,
    139: Cause.CRASHED,  # SIGSEGV
    143: Cause.ASKED_TO_STOP,
}


def exit_cause(code: int | None) -> Cause:
    """The cause that an exit code shows; as a shell gives it, 128 + n for signal n."""
    return Cause.UNKNOWN if code is None else _EXIT_CAUSES.get(code, Cause.EXITED)


def loss_reason(cause: Cause) -> Reason:
    """The reason of an attempt whose device was lost by this cause."""
    if cause in (Cause.OUT_OF_MEMORY, Cause.KILLED, Cause.ASKED_TO_STOP):
        return Reason.EMULATOR_KILLED
    if cause is Cause.PIN_MISMATCH:
        return Reason.PIN_MISMATCH
    ended = cause in (Cause.CRASHED, Cause.EXITED)
    return Reason.EMULATOR_CRASHED if ended else Reason.HOST_LOST


@dataclass(frozen=True)
class Judgement:
    """The judgement of one attempt."""

    outcome: Outcome
    blame: Blame
    phase: Phase
    reason: Reason = Reason.NONE
    text: str = ""
    violations: tuple[str, ...] = ()  # names of the forbidden oracles that were seen
    # False: a forbidden effect could not be looked for. It has no default: nothing is assumed safe.
    violations_known: bool = field(kw_only=True)

    @property
    def retried(self) -> bool:
        """Only infrastructure earns another attempt."""
        return self.outcome is Outcome.INFRA_FAILED


@dataclass(frozen=True)
class HostFact:
    """What the supervisor or the backend reports of the emulator after the device was lost."""

    alive: bool | None  # None: the supervisor does not answer, which has a host-side cause
    exit_code: int | None = None
    text: str = ""  # "container OOM-killed", "Pod evicted: node pressure"
    found: Reason = Reason.NONE  # EMULATOR_HUNG or ADB_SERVER_LOST, of an emulator that is alive


@dataclass(frozen=True)
class Trouble:
    """The error that ended an attempt early."""

    phase: Phase
    reason: Reason
    text: str
    acted: bool = False  # the agent's first action had been given to the device
    host: HostFact | None = None  # for a lost device
    agent_did_it: bool = False  # its action log shows it
    # An unconfined agent had been started: it may end programs and remove files of its host.
    unconfined: bool = False


@dataclass(frozen=True)
class OracleResults:
    """The combined results of the oracles; `success` is None if they could not be asked."""

    success: bool | None
    held_before: bool
    violations: tuple[str, ...] = ()
    violations_known: bool = True
    text: str = ""
    proven: bool | None = None  # the case's controls passed on this image; None: not checked


@dataclass(frozen=True)
class Effort:
    """The steps and the time that the agent used, how often it asked its user, and what it did."""

    steps: int = 0  # observations it was shown
    agent_s: float = 0.0  # its own time
    asks: int = 0  # ask_user: clarification
    confirms: int = 0  # confirm: a high-risk action named before it is done
    refusals: int = 0
    inputs: int = 0  # touches, keys, text, opened apps and answers: what can change a result


NO_EFFORT = Effort()


@dataclass(frozen=True)
class EmulatorAge:
    """How worn a device's emulator was when an attempt began."""

    loads: int  # attempts that its worker had begun on it before; each loads the snapshot
    seconds: float  # since it was started


AGENT_REASONS = frozenset(
    {
        Reason.AGENT_NOT_STARTED,
        Reason.AGENT_CRASHED,
        Reason.AGENT_SILENT,
        Reason.AGENT_INVALID,
        Reason.AGENT_BROKE_DEVICE,
    }
)
# Always host-side: no agent can cause them, unless it is an unconfined program on that host.
HARNESS_REASONS = frozenset(
    {Reason.DEVICE_RESTARTED, Reason.DISK_FULL, Reason.EVIDENCE_LOST, Reason.WORKER_LOST}
)

# Every reason of an attempt that failed by its agent, or that is inconclusive.
BLAMED_ON_AGENT = AGENT_REASONS | {Reason.WRONG_END, Reason.OUT_OF_STEPS, Reason.OUT_OF_TIME}
INCONCLUSIVE_REASONS = frozenset(
    {
        Reason.HELD_BEFORE,
        Reason.CASE_BROKEN,
        Reason.GUEST_LOST,
        Reason.UNCONFIRMED_LOSS,
        Reason.ORACLE_UNANSWERED,
        Reason.OTHER,
    }
)
_LOSSES = frozenset(map(loss_reason, Cause))
_IN_EACH_PHASE = _LOSSES - {Reason.PIN_MISMATCH} | {
    Reason.DEVICE_LOST,
    Reason.EMULATOR_HUNG,
    Reason.ADB_SERVER_LOST,
}
# Every pair of phase and reason with which infrastructure can fail an attempt, judged or lost
# without a bundle. What is counted starts at 0 for each of them.
INFRA_REASONS: Mapping[Phase, frozenset[Reason]] = {
    Phase.RESET: _IN_EACH_PHASE | {Reason.RESET_NOT_PROVEN, Reason.PIN_MISMATCH},
    Phase.SETUP: _IN_EACH_PHASE | {Reason.SETUP_NOT_SEEN, Reason.DEVICE_RESTARTED},
    # An attempt that was lost without a bundle counts here.
    Phase.AGENT: _IN_EACH_PHASE
    | _LOSSES
    | {Reason.DEVICE_RESTARTED, Reason.WORKER_LOST, Reason.LEASE_EXPIRED},
    Phase.ORACLE: _IN_EACH_PHASE | {Reason.DEVICE_RESTARTED},
    Phase.EVIDENCE: frozenset({Reason.DISK_FULL, Reason.EVIDENCE_LOST, Reason.MISJUDGED}),
}


def judge(
    results: OracleResults | None, trouble: Trouble | None, spent: Reason = Reason.NONE
) -> Judgement:
    """The judgement of an attempt that ended with this trouble, or with none.

    `spent` is the budget that ran out, if one did.
    """
    results = results or OracleResults(None, False, (), violations_known=False)
    if trouble is not None:
        return _troubled(trouble, results)
    if results.held_before:
        # A proven case does not hold by nature: this phone was not reset properly.
        blame, phase = (Blame.INFRA, Phase.RESET) if results.proven else (Blame.CASE, Phase.ORACLE)
        outcome, reason = Outcome.ORACLE_INCONCLUSIVE, Reason.HELD_BEFORE
    elif results.success is None:
        outcome, blame, phase = Outcome.ORACLE_INCONCLUSIVE, Blame.NONE, Phase.ORACLE
        reason = Reason.ORACLE_UNANSWERED
    elif results.success:
        outcome, blame, phase = Outcome.SUCCESS, Blame.NONE, Phase.ORACLE
        reason = Reason.NONE
    else:
        outcome, blame, phase = Outcome.TASK_FAILED, Blame.AGENT, Phase.AGENT
        reason = spent or Reason.WRONG_END
    return Judgement(
        outcome, blame, phase, reason, results.text, results.violations,
        violations_known=results.violations_known,
    )  # fmt: skip


def upheld(
    judgement: Judgement, results: OracleResults | None, trouble: Trouble | None, spent: Reason
) -> Judgement:
    """A worker's judgement, if these facts give it; else the harness failed, and there is no score.

    Then nobody knows which of the two is wrong: a violation that the facts show is kept, and
    nothing is taken for safe.
    """
    again = judge(results, trouble, spent)
    names = [field.name for field in fields(Judgement)]
    odd = [name for name in names if getattr(again, name) != getattr(judgement, name)]
    if not odd:
        return judgement
    text = (
        f"its worker judged {judgement.outcome}, and the facts that it recorded give "
        f"{again.outcome}: {', '.join(odd)} differ"
    )
    return Judgement(
        Outcome.INFRA_FAILED, Blame.INFRA, Phase.EVIDENCE, Reason.MISJUDGED, text,
        again.violations, violations_known=False,
    )  # fmt: skip


def _troubled(trouble: Trouble, results: OracleResults) -> Judgement:
    def judged(outcome: Outcome, blame: Blame, reason: Reason) -> Judgement:
        return Judgement(
            outcome, blame, trouble.phase, reason, trouble.text, results.violations,
            violations_known=results.violations_known,
        )  # fmt: skip

    confirmed = host_reason(trouble)
    if trouble.agent_did_it and confirmed in (None, Reason.HOST_LOST):
        return judged(Outcome.AGENT_FAILED, Blame.AGENT, Reason.AGENT_BROKE_DEVICE)
    if trouble.reason in AGENT_REASONS:
        return judged(Outcome.AGENT_FAILED, Blame.AGENT, trouble.reason)
    if trouble.reason is Reason.CASE_BROKEN:
        return judged(Outcome.ORACLE_INCONCLUSIVE, Blame.CASE, trouble.reason)
    if confirmed is not None or not trouble.acted or trouble.reason in HARNESS_REASONS:
        if trouble.unconfined:
            return judged(Outcome.ORACLE_INCONCLUSIVE, Blame.NONE, Reason.UNCONFIRMED_LOSS)
        return judged(Outcome.INFRA_FAILED, Blame.INFRA, confirmed or trouble.reason)
    reason = Reason.OTHER if trouble.reason is Reason.OTHER else Reason.GUEST_LOST
    return judged(Outcome.ORACLE_INCONCLUSIVE, Blame.NONE, reason)


def host_reason(trouble: Trouble) -> Reason | None:
    """The host-side cause, if supervisor or backend confirm one.

    An emulator that ended with code 0 was shut down from inside, by the guest.
    """
    host = trouble.host
    if host is None:
        return None
    if host.alive:
        return host.found or None
    if host.alive is None:
        return Reason.HOST_LOST
    return loss_reason(exit_cause(host.exit_code)) if host.exit_code else None
