"""The schedule's invariants hold for any order of joining, failing, returning and lost workers."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from orchestrator.coordinator import schedule
from orchestrator.coordinator.state import State, apply, mark_seen, new_state, renew
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    Event,
    LeaseGranted,
    SegmentOpened,
)
from orchestrator.evidence.attempt import AttemptRecord
from orchestrator.outcome import Outcome, Reason
from tests.coordinator.runs import INFRA, a_plan, word

DEVICES = st.sampled_from(["a", "b", "c"])
ATTEMPTS = 3


class Schedule(RuleBasedStateMachine):
    leases: Bundle[LeaseGranted] = Bundle("leases")
    ended: Bundle[LeaseGranted] = Bundle("ended")

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.journal: list[Event] = []
        self.decided: list[str] = []
        self.state = self.fresh()

    @staticmethod
    def fresh() -> State:
        plan = a_plan(3, repeats=2)
        expected = {episode.id: float(len(episode.id)) for episode in plan.episodes}
        return new_state(plan.episodes, expected, lease_s=10, attempts=ATTEMPTS)

    def record(self, event: Event) -> None:
        self.journal.append(event)
        apply(self.state, event, self.now)

    def conclude(self, granted: LeaseGranted) -> None:
        decided = schedule.decision_due(self.state, granted.episode)
        if decided is not None:
            self.record(decided)
            self.decided.append(decided.episode)
        quarantined = schedule.quarantine_due(self.state, granted.device)
        if quarantined is not None:
            self.record(quarantined)

    @initialize()
    def open(self) -> None:
        self.record(SegmentOpened(claim=1, sealed=None))

    @rule(device=DEVICES, target=leases)
    def ask(self, device: str) -> LeaseGranted | MultipleResults[LeaseGranted]:
        known = self.state.devices.get(device)
        if known is not None and known.token is not None:
            return multiple()
        mark_seen(self.state, device, self.now)
        nonce = str(len(self.journal))
        before = list(self.state.pending)
        decision = schedule.grant(self.state, "w", device, nonce, nonce, self.now)
        if not isinstance(decision, LeaseGranted):
            return multiple()
        self.check_choice(decision, before)
        self.record(decision)
        return decision

    def check_choice(self, granted: LeaseGranted, pending: list[str]) -> None:
        """Longest first among what this device may try, and elsewhere before here again."""
        tried = [event.device for event in self.state.progress[granted.episode].ended]
        fresh = set(schedule.live(self.state, self.now)) - set(tried)
        assert granted.device not in tried or not fresh
        assert granted.attempt == len(tried) + 1 <= ATTEMPTS
        longer = [
            id for id in pending if self.state.expected[id] > self.state.expected[granted.episode]
        ]
        for id in longer:
            assert not schedule.may_try(self.state, id, granted.device, self.now)

    @rule(granted=consumes(leases), infra=st.booleans(), target=ended)
    def commit(self, granted: LeaseGranted, infra: bool) -> LeaseGranted:
        told = word(granted.episode, granted.attempt, granted.device, **(INFRA if infra else {}))
        record = AttemptRecord.model_validate(told)
        held = granted.token in self.state.leases
        event = schedule.bundle_stored(self.state, granted.token, record, "0" * 64, "bundle", 9)
        assert isinstance(event, AttemptCommitted) == held
        self.record(event)
        if held:
            self.conclude(granted)
        return granted

    @rule(granted=ended)
    def commit_again(self, granted: LeaseGranted) -> None:
        """A second bundle under an ended lease never scores."""
        before = len(self.decided)
        record = AttemptRecord.model_validate(word(granted.episode, granted.attempt, "a"))
        event = schedule.bundle_stored(self.state, granted.token, record, "1" * 64, "bundle", 9)
        assert not isinstance(event, AttemptCommitted)
        self.record(event)
        assert len(self.decided) == before

    @rule(granted=leases)
    def renew(self, granted: LeaseGranted) -> None:
        assert renew(self.state, granted.token, self.now) == (granted.token in self.state.leases)

    @rule(granted=consumes(leases), target=ended)
    def give_back(self, granted: LeaseGranted) -> LeaseGranted:
        held = self.state.leases.get(granted.token)
        if held is not None:
            ended = self.state.progress[granted.episode].ended
            self.record(schedule.lease_returned(held, "SIGTERM"))
            assert self.state.progress[granted.episode].ended == ended
        return granted

    @rule(granted=consumes(leases), target=ended)
    def lose(self, granted: LeaseGranted) -> LeaseGranted:
        held = self.state.leases.get(granted.token)
        if held is not None:
            self.record(schedule.attempt_lost(held, Reason.WORKER_LOST, "gone", self.now))
            self.conclude(granted)
        return granted

    @rule(seconds=st.floats(0, 12))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for lost in schedule.expired(self.state, self.now):
            granted = self.state.granted[lost.token]
            self.record(lost)
            self.conclude(granted)

    @rule()
    def restart(self) -> None:
        """Everything but who was heard, and when, comes back from the journal."""
        before = self.state
        self.state = self.fresh()
        for event in self.journal:
            apply(self.state, event, self.now)
        assert set(self.state.leases) == set(before.leases)
        assert self.state.progress == before.progress
        assert list(self.state.pending) == list(before.pending)
        assert all(held.expires == self.now + 10 for held in self.state.leases.values())
        self.record(SegmentOpened(claim=1, sealed=None))

    @invariant()
    def the_laws_hold(self) -> None:
        state = self.state
        assert len(self.decided) == len(set(self.decided))
        assert state.undecided == len(state.episodes) - len(self.decided)
        holders = [held.granted.device for held in state.leases.values()]
        assert len(holders) == len(set(holders))
        for id, progress in state.progress.items():
            assert len(progress.ended) <= ATTEMPTS
            assert all(e.judgement.outcome is Outcome.INFRA_FAILED for e in progress.ended[:-1])
            where = [id in state.pending, progress.token is not None, progress.decided is not None]
            assert where.count(True) == 1, (id, where)


Schedule.TestCase.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
TestSchedule = Schedule.TestCase
