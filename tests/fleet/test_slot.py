"""A slot: how many starts it has, what counts as one, and when it is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from orchestrator.fleet import slot as slots
from orchestrator.fleet.fact import DeviceFact, FactKind
from orchestrator.fleet.slot import NoMorePairs, Slot
from orchestrator.outcome import DISRUPTIONS, Cause

Pair = Callable[[Slot], Awaitable[bool]]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "LONGEST_PAUSE_S", 0.0)
    monkeypatch.setattr(slots, "LONGEST_HOST_PAUSE_S", 0.0)


def lived(pair: Pair, *, starts: int = 5, first: int = 1) -> tuple[Slot, list[DeviceFact]]:
    facts: list[DeviceFact] = []
    slot = Slot(0, starts, first, pair, facts.append)
    asyncio.run(asyncio.wait_for(slot.live(), 60))
    return slot, facts


def losing(
    cause: Cause,
    *,
    times: int = 1_000_000,
    kind: FactKind = "device_lost",
    commits: Callable[[int], bool] = lambda pair: False,
) -> Pair:
    """Pairs that are lost by this cause, so often, some after a commit; then one that finishes."""
    count = 0

    async def pair(slot: Slot) -> bool:
        nonlocal count
        count += 1
        if commits(count):
            slot.committed()
        if count <= times:
            slot.report(kind, cause, None, "gone")
        return count > times

    return pair


def test_a_slot_is_given_up_after_so_many_starts_without_a_commit() -> None:
    slot, facts = lived(losing(Cause.CRASHED), starts=3)
    assert slot.state == "given_up"
    assert [fact.kind for fact in facts] == ["device_lost"] * 3 + ["slot_given_up"]
    assert facts[-1].cause is Cause.CRASHED


def test_starts_before_a_commit_do_not_count() -> None:
    """Devices do wear out in a long run: 20 losses with a commit between them cost no slot."""
    slot, facts = lived(losing(Cause.CRASHED, times=20, commits=lambda pair: pair % 2 == 0))
    assert (slot.state, slot.device, len(facts)) == ("finished", "slot-00.21", 20)


@pytest.mark.parametrize("kind", ["device_lost", "worker_lost", "device_not_started"])
@pytest.mark.parametrize("cause", sorted(DISRUPTIONS - {Cause.ASKED_TO_STOP}))
def test_a_disruption_that_is_nobodys_fault_is_free(cause: Cause, kind: FactKind) -> None:
    slot, facts = lived(losing(cause, times=50, kind=kind), starts=2)
    assert (slot.state, len(facts)) == ("finished", 50)


@pytest.mark.parametrize("kind", ["device_lost", "worker_lost"])
def test_a_device_that_was_asked_to_stop_is_free(kind: FactKind) -> None:
    slot, facts = lived(losing(Cause.ASKED_TO_STOP, times=50, kind=kind), starts=2)
    assert (slot.state, len(facts)) == ("finished", 50)


def test_a_device_that_was_asked_to_stop_before_it_started_counts() -> None:
    """Else one that ends with 143 at every start would be tried for ever."""

    async def pair(slot: Slot) -> bool:
        slot.report("device_not_started", Cause.ASKED_TO_STOP, 143, "")
        return False

    slot, _ = lived(pair, starts=2)
    assert slot.state == "given_up"
    assert slot.device == "slot-00.2"


@pytest.mark.parametrize("kind", ["device_lost", "worker_lost", "device_not_started"])
@pytest.mark.parametrize("cause", [Cause.CONFIG_ERROR, Cause.IMAGE_ERROR, Cause.PIN_MISMATCH])
def test_after_a_cause_that_no_other_device_would_escape_none_is_started(
    cause: Cause, kind: FactKind
) -> None:
    slot, facts = lived(losing(cause, kind=kind))
    assert (slot.state, slot.device) == ("given_up", "slot-00.1")
    assert [fact.kind for fact in facts] == [kind, "slot_given_up"]


@pytest.mark.parametrize(
    ("cause", "most"),
    [
        (Cause.RUNTIME_ERROR, 2),
        (Cause.CRASHED, 2),
        (Cause.OUT_OF_MEMORY, 2),
        (Cause.STORAGE, 2),
        (Cause.DEADLINE, 2),
        (Cause.REJECTED, 3),
        (Cause.START_TIMEOUT, 5),
        (Cause.EXITED, 5),
        (Cause.KILLED, 5),
    ],
)
def test_a_cause_has_a_bound_of_its_own_for_starts(cause: Cause, most: int) -> None:
    slot, _ = lived(losing(cause, kind="device_not_started"))
    assert (slot.state, slot.device) == ("given_up", f"slot-00.{most}")
    slot, _ = lived(losing(cause, kind="device_not_started", times=most - 1))
    assert slot.state == "finished"


@pytest.mark.parametrize("cause", [Cause.OUT_OF_MEMORY, Cause.CRASHED, Cause.STORAGE])
def test_an_episode_that_ends_its_device_at_every_attempt_costs_no_slot(cause: Cause) -> None:
    """It has three attempts, and the next episode commits."""
    slot, _ = lived(losing(cause, times=3))
    assert slot.state == "finished"


def test_failed_starts_count_in_a_row() -> None:
    """A device that started in between says that a start is worth its time."""
    causes = [("device_not_started", Cause.RUNTIME_ERROR), ("device_lost", Cause.KILLED)] * 2

    async def pair(slot: Slot) -> bool:
        if not causes:
            return True
        kind, cause = causes.pop(0)
        slot.report(kind, cause, None, "")  # type: ignore[arg-type]
        return False

    slot, _ = lived(pair)
    assert slot.state == "finished"


def test_a_rejected_pod_gives_its_node_time_before_the_next() -> None:
    slot = Slot(0, 5, 1, losing(Cause.KILLED), lambda fact: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slots, "LONGEST_HOST_PAUSE_S", 60.0)
        pauses = []
        for _ in range(4):
            slot.report("device_not_started", Cause.REJECTED, None, "")
            pauses.append(slot.pause_s)
    assert pauses == [15.0, 30.0, 60.0, 60.0]


def test_a_slot_that_can_have_no_further_pair_is_given_up_at_once() -> None:
    async def pair(slot: Slot) -> bool:
        raise NoMorePairs("the engine is away")

    slot, facts = lived(pair)
    assert (slot.state, slot.reason) == ("given_up", "the engine is away")
    assert [fact.kind for fact in facts] == ["slot_given_up"]


def test_devices_count_on_from_those_of_an_earlier_execution() -> None:
    slot, _ = lived(losing(Cause.KILLED, times=1), first=4)
    assert slot.device == "slot-00.5"


def test_pauses_double_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "LONGEST_PAUSE_S", 5.0)
    slot = Slot(0, 5, 1, losing(Cause.KILLED), lambda fact: None)
    pauses = []
    for _ in range(7):
        slot.report("device_lost", Cause.EVICTED, None, "")
        pauses.append(slot.pause_s)
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    slot.committed()
    assert slot.pause_s == 0.2
