"""Generated journals: runs that live at once, decided by the product's own schedule."""

from __future__ import annotations

import random
from pathlib import Path

from orchestrator.coordinator import schedule
from orchestrator.coordinator.chain import FIRST, encode, parse_line
from orchestrator.coordinator.state import OpenLease, apply, mark_seen, new_state
from orchestrator.coordinator.transitions import (
    DeviceFailed,
    DeviceLost,
    DeviceStarted,
    Event,
    LeaseGranted,
    SegmentOpened,
)
from orchestrator.evidence.attempt import AttemptRecord
from orchestrator.metrics.families import START_REASONS
from orchestrator.metrics.totals import RunTotals
from orchestrator.outcome import (
    BLAMED_ON_AGENT,
    INCONCLUSIVE_REASONS,
    INFRA_REASONS,
    Blame,
    Cause,
    EmulatorAge,
    Judgement,
    OracleResults,
    Outcome,
    Phase,
    Reason,
)
from orchestrator.plan.plan import Plan
from tests.report.rows import a_plan

DEVICES = ("slot-00.1", "slot-00.2", "slot-01.1")
PLAN = a_plan(3, repeats=2)


def variants(plan: Plan = PLAN) -> dict[str, str]:
    return {episode.id: episode.variant for episode in plan.episodes}


def judged(outcome: Outcome, phase: Phase, reason: Reason, *violations: str) -> Judgement:
    return Judgement(outcome, Blame.NONE, phase, reason, "", violations, violations_known=True)


INFRA = [
    judged(Outcome.INFRA_FAILED, phase, reason)
    for phase, reasons in INFRA_REASONS.items()
    for reason in sorted(reasons)
]
GOOD = judged(Outcome.SUCCESS, Phase.ORACLE, Reason.NONE)
OTHERS = [
    *(judged(Outcome.AGENT_FAILED, Phase.AGENT, reason) for reason in sorted(BLAMED_ON_AGENT)),
    *(
        judged(Outcome.ORACLE_INCONCLUSIVE, Phase.ORACLE, reason)
        for reason in sorted(INCONCLUSIVE_REASONS)
    ),
    judged(Outcome.TASK_FAILED, Phase.AGENT, Reason.WRONG_END, "leak", "sent"),
    GOOD,
    # What no table has: a worker of another version, or a hostile one.
    judged(Outcome.INFRA_FAILED, Phase.BOOT, Reason.WRONG_END),
    judged(Outcome.AGENT_FAILED, Phase.AGENT, Reason.DISK_FULL),
    judged(Outcome.ORACLE_INCONCLUSIVE, Phase.ORACLE, Reason.NONE),
]
STARTS = [(phase, reason) for phase, known in START_REASONS.items() for reason in sorted(known)]
STARTS += [("boot", 'a "hostile"\n\\ phone\ud800'), ("provision", "")]


class Life:
    """A run whose events are chosen one after another; each is applied and kept."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.journal: list[Event] = []
        expected = {episode.id: 10.0 for episode in PLAN.episodes}
        self.state = new_state(PLAN.episodes, expected, lease_s=30, attempts=3)
        self._ended: list[LeaseGranted] = []
        self._now = 0.0

    def live(self, steps: int) -> list[Event]:
        self._restart()
        acts = [self._ask] * 4 + [self._commit] * 4
        acts += [self._lose, self._expire, self._late, self._return]
        acts += [self._start, self._fail, self._gone, self._restart]
        for _ in range(steps):
            self._chance.choice(acts)()
        return self.journal

    def _record(self, event: Event | None) -> None:
        if event is not None:
            self.journal.append(event)
            apply(self.state, event, self._now)

    def _conclude(self, granted: LeaseGranted) -> None:
        self._ended.append(granted)
        self._record(schedule.decision_due(self.state, granted.episode))
        self._record(schedule.quarantine_due(self.state, granted.device))

    def _held(self) -> OpenLease | None:
        leases = list(self.state.leases.values())
        return self._chance.choice(leases) if leases else None

    def _ask(self) -> None:
        device, nonce = self._chance.choice(DEVICES), str(len(self.journal))
        known = self.state.devices.get(device)
        if known is None or known.token is None:
            mark_seen(self.state, device, self._now)
            granted = schedule.grant(self.state, "w", device, nonce, nonce, self._now)
            self._record(granted if isinstance(granted, LeaseGranted) else None)

    def _commit(self) -> None:
        if held := self._held():
            self._store(held.granted)
            self._conclude(held.granted)

    def _late(self) -> None:
        if self._ended and (granted := self._ended.pop()).token not in self.state.fenced:
            self._store(granted)

    def _store(self, granted: LeaseGranted) -> None:
        judgement = self._chance.choice(INFRA if self._chance.random() < 0.5 else OTHERS)
        began = self._chance.randrange(1000)
        record = AttemptRecord(
            episode=granted.episode, attempt=granted.attempt, device=granted.device,
            judgement=GOOD, oracle_results=OracleResults(success=True, held_before=False),
            started_ms=began, ended_ms=began + self._chance.randrange(100_000),
            durations={name: self._seconds() for name in ("reset", "setup", "agent", "strange")},
            age=EmulatorAge(self._chance.randrange(99), abs(self._seconds())),
        )  # fmt: skip
        size = self._chance.randrange(1 << 40)
        stored = schedule.bundle_stored(self.state, granted.token, record, "m", "b", size)
        self._record(stored.model_copy(update={"judgement": judgement}))

    def _lose(self) -> None:
        if held := self._held():
            reason = self._chance.choice(sorted(INFRA_REASONS[Phase.AGENT]))
            self._record(schedule.attempt_lost(held, reason, "", self._now))
            self._conclude(held.granted)

    def _expire(self) -> None:
        self._now += self._chance.random() * 40
        for event in schedule.expired(self.state, self._now):
            self._record(event)
            self._conclude(self.state.granted[event.token])

    def _return(self) -> None:
        if held := self._held():
            self._record(schedule.lease_returned(held, "SIGTERM"))

    def _start(self) -> None:
        boot_s = self._chance.choice([None, self._seconds()])
        self._record(DeviceStarted(device=self._device(), report_id="r", boot_s=boot_s))

    def _fail(self) -> None:
        phase, reason = self._chance.choice(STARTS)
        self._record(
            DeviceFailed.model_validate(
                {"device": self._device(), "report_id": "r", "phase": phase, "reason": reason}
            )
        )

    def _gone(self) -> None:
        cause = self._chance.choice(list(Cause))
        self._record(DeviceLost(device="slot-09.1", reason=Reason.HOST_LOST, cause=cause))

    def _restart(self) -> None:
        self._record(SegmentOpened(claim=1, sealed=None))

    def _device(self) -> str:
        return self._chance.choice(DEVICES)

    def _seconds(self) -> float:
        return round(self._chance.random() * 1000 - 1, 3)


def replayed(journal: list[Event]) -> list[Event]:
    """As a later coordinator reads them."""
    return [parse_line(Path("journal"), 0, encode(1, 0, FIRST, each))[1] for each in journal]


def totals_of(journal: list[Event]) -> RunTotals:
    totals = RunTotals(variants())
    for event in journal:
        totals.apply(event)
    return totals
