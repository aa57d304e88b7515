"""A journal with an unbroken chain must also be one that a coordinator could have written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from orchestrator.coordinator.chain import JournalLine
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptFenced,
    AttemptLost,
    DeviceQuarantined,
    EpisodeDecided,
    Event,
    LeaseGranted,
    LeaseReturned,
    RunOpened,
    RunSealed,
    SegmentOpened,
)
from orchestrator.outcome import OracleResults
from orchestrator.report.verify.journal import replay
from tests.coordinator import runs
from tests.coordinator.runs import SETTINGS, a_plan

PLAN = a_plan(2)
ONE, TWO = (episode.id for episode in PLAN.episodes)
SUCCESS, INFRA, FAILED = (
    {"judgement": told["judgement"]}
    for told in (runs.SUCCESS, runs.INFRA, runs.judged(OracleResults(False, held_before=False)))
)


def opened(**fields: Any) -> RunOpened:
    told = {"plan": PLAN.digest, "agent": PLAN.agent, "profile": PLAN.profile, "episodes": 2}
    return RunOpened.model_validate({**told, "settings": asdict(SETTINGS), **fields})


def granted(episode: str, attempt: int, device: str = "d1", nonce: str = "n") -> LeaseGranted:
    token = f"{episode}/{attempt}/{nonce}"
    return LeaseGranted(
        token=token, episode=episode, attempt=attempt, device=device, worker="w", request_id="a"
    )


def committed(episode: str, attempt: int, device: str = "d1", **fields: Any) -> AttemptCommitted:
    return AttemptCommitted.model_validate(
        {
            "token": f"{episode}/{attempt}/n", "episode": episode, "attempt": attempt,
            "device": device, "started_ms": 1, "ended_ms": 2, "manifest": "0" * 64,
            "bundle": f"episodes/{episode}/attempt-{attempt}-c1", "bundle_bytes": 9,
            **SUCCESS, **fields,
        }
    )  # fmt: skip


def decided(episode: str, attempt: int, **fields: Any) -> EpisodeDecided:
    bundle = f"episodes/{episode}/attempt-{attempt}-c1"
    told = {"episode": episode, "attempt": attempt, "bundle": bundle, **SUCCESS, **fields}
    return EpisodeDecided.model_validate(told)


def sealed(**fields: Any) -> RunSealed:
    return RunSealed.model_validate({"plan": PLAN.digest, "decided": 2, **fields})


def whole() -> list[Event]:
    """One episode at the second attempt, one at the first."""
    return [
        SegmentOpened(claim=1, sealed=None),
        opened(),
        granted(ONE, 1),
        committed(ONE, 1, **INFRA),
        granted(ONE, 2, "d2"),
        granted(TWO, 1),
        committed(ONE, 2, "d2"),
        decided(ONE, 2),
        committed(TWO, 1),
        decided(TWO, 1),
        sealed(),
    ]


def told(events: list[Event]) -> list[str]:
    return replay(PLAN, [JournalLine(seq, 0, event) for seq, event in enumerate(events, start=1)])


def test_a_run_that_went_its_way_follows() -> None:
    assert told(whole()) == []


def put(at: int, event: Event) -> Callable[[list[Event]], None]:
    return lambda events: events.__setitem__(at, event)


def add(at: int, *new: Event) -> Callable[[list[Event]], None]:
    return lambda events: events.__setitem__(slice(at, at), new)


def cut(*at: int) -> Callable[[list[Event]], None]:
    def change(events: list[Event]) -> None:
        for index in sorted(at, reverse=True):
            del events[index]

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (cut(1), "before the line that opens the run"),
        (put(1, opened(plan="0" * 64)), "its plan is not plan.json"),
        (put(1, opened(settings={})), "how many attempts"),
        (add(2, opened()), "opened a second time"),
        (put(2, granted("nobody.benign.1", 1)), "not in the plan"),
        (put(4, granted(ONE, 3, "d2")), "the next attempt is 2"),
        (put(5, granted(TWO, 1, "d2")), "d2 already holds a lease"),
        (add(5, granted(ONE, 2, "d3", "m")), "is already leased"),
        (add(8, granted(ONE, 3, "d3")), "needs no further attempt"),
        (cut(2), "a lease that is not open"),
        (put(6, committed(ONE, 2, "d1")), "its episode, attempt or device is not"),
        (put(6, committed(ONE, 2, "d2", bundle="episodes/x/attempt-2-c1")), "its bundle must be"),
        (put(7, decided(ONE, 2, **FAILED)), "not the decision"),
        (put(7, decided(ONE, 1)), "not the decision"),
        (add(4, decided(ONE, 1, **INFRA)), "not the decision"),
        (cut(7), "seals a run with 1 episodes undecided"),
        (put(10, sealed(decided=3)), "its plan is not plan.json"),
        (add(4, DeviceQuarantined(device="d1", text="why not")), "nothing before it causes"),
    ],
)
def test_a_line_that_does_not_follow_is_named(
    change: Callable[[list[Event]], None], says: str
) -> None:
    events = whole()
    change(events)
    problems = told(events)
    assert any(says in problem for problem in problems), problems
    assert all(problem.startswith("journal") for problem in problems)


def test_a_lost_attempt_can_only_be_infrastructure() -> None:
    lost = {"token": f"{ONE}/1/n", "episode": ONE, "attempt": 1, "device": "d1", "held_s": 2}
    events = whole()
    events[3] = AttemptLost.model_validate({**lost, **INFRA})
    assert told(events) == []
    events[3] = AttemptLost.model_validate({**lost, **SUCCESS})
    assert "can only be infra_failed" in told(events)[0]


def test_a_lease_given_back_is_no_attempt_and_what_comes_after_is_fenced() -> None:
    lease = {"token": f"{TWO}/1/m", "episode": TWO, "attempt": 1, "device": "d3"}
    given = LeaseReturned.model_validate({**lease, "reason": "stopped"})
    late = committed(TWO, 1, "d3", token=lease["token"]).model_dump() | {
        "event": "attempt_fenced",
        "bundle": "episodes/case_1.benign.0/fenced-b7bd74d7d8e2e5f1",
    }
    events = whole()
    events[5:5] = [granted(TWO, 1, "d3", "m"), given, AttemptFenced.model_validate(late)]
    (problem,) = told(events)
    assert "its bundle must be episodes/case_1.benign.0/fenced-" in problem
    right = problem.rpartition(" ")[2]
    events[7] = AttemptFenced.model_validate(late | {"bundle": right})
    assert told(events) == []
    events[6:8] = events[7:5:-1]  # fenced while its lease was open
    assert "its lease is open" in told(events)[0]


def test_attempts_are_bounded() -> None:
    events: list[Event] = [SegmentOpened(claim=1, sealed=None), opened()]
    for attempt in (1, 2, 3):
        events += [granted(ONE, attempt), committed(ONE, attempt, **INFRA)]
    assert told([*events, decided(ONE, 3, **INFRA)]) == []
    assert "needs no further attempt" in told([*events, granted(ONE, 4)])[0]
