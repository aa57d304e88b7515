"""The table of infrastructure's reasons is exactly what attempts can end with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import cast

import pytest

from orchestrator.agent.agent import AgentFault, AgentHostLost
from orchestrator.coordinator import schedule
from orchestrator.coordinator.messages import DeviceLoss
from orchestrator.coordinator.state import OpenLease
from orchestrator.coordinator.transitions import LeaseGranted
from orchestrator.device.faults import REASONS, DeviceFault
from orchestrator.device.presence import DeviceGone
from orchestrator.episode.agent_loop import AgentLoop
from orchestrator.episode.attempt import trouble_of
from orchestrator.episode.context import AttemptContext, AttemptInterrupted, LeaseNotKept
from orchestrator.episode.reset import NotProven, PinMismatch
from orchestrator.episode.setup import SetupNotSeen
from orchestrator.outcome import (
    AGENT_REASONS,
    BLAMED_ON_AGENT,
    INCONCLUSIVE_REASONS,
    INFRA_REASONS,
    Cause,
    HostFact,
    Judgement,
    OracleResults,
    Outcome,
    Phase,
    Reason,
    Trouble,
    judge,
    upheld,
)

CODES = (None, 0, 1, 126, 127, 132, 134, 137, 139, 143)
HOSTS = [
    HostFact(True), HostFact(None), *(HostFact(False, code) for code in CODES),
    *(HostFact(True, found=reason) for reason in (Reason.EMULATOR_HUNG, Reason.ADB_SERVER_LOST)),
]  # fmt: skip
RESULTS = [
    None,
    *(
        OracleResults(success, held, proven=proven)
        for success, held, proven in product((None, True, False), (True, False), (None, True))
    ),
]
SPENT = (Reason.NONE, Reason.OUT_OF_STEPS, Reason.OUT_OF_TIME)
ANYWHERE: list[Exception] = [
    *(DeviceFault(reason, "") for reason in sorted(REASONS)),
    DeviceGone("the emulator has ended"),
    AttemptInterrupted("the worker was asked to stop"),
    RuntimeError("a bug"),
]
ERRORS: dict[Phase, list[Exception]] = {
    Phase.RESET: [*ANYWHERE, NotProven(""), PinMismatch("")],
    Phase.SETUP: [*ANYWHERE, SetupNotSeen("")],
    Phase.AGENT: [
        *ANYWHERE,
        LeaseNotKept(""),
        AgentHostLost(""),
        *(AgentFault(reason, "") for reason in sorted(AGENT_REASONS)),
    ],
    Phase.ORACLE: ANYWHERE,
}


@dataclass(frozen=True)
class Stopped:
    """What an attempt's context and its agent's loop say once an error has ended it."""

    host: HostFact
    acted: bool
    broke: bool
    adb_restarts: int | None = None

    def broke_device(self) -> str:
        return "the agent touched a switch" if self.broke else ""

    def reachable(self) -> bool:
        return False

    def host_fact(self, adb_restarts: int | None = None) -> HostFact:
        return self.host


def troubles() -> Iterator[Trouble]:
    """Every trouble of episode/attempt.py and worker/loop.py."""
    for phase, errors in ERRORS.items():
        began = phase in (Phase.AGENT, Phase.ORACLE)
        for host, acted, cut in product(HOSTS, (False, began), (False, began)):
            told = Stopped(host, acted, cut)
            context, loop = cast(AttemptContext, told), cast(AgentLoop, told)
            for error in errors:
                yield trouble_of(error, phase, context, loop)
            if phase is not Phase.RESET:
                yield Trouble(phase, Reason.DEVICE_RESTARTED, "", acted, agent_did_it=cut)
    killed = HostFact(False, 137)
    yield Trouble(Phase.AGENT, Reason.DEVICE_LOST, "", True, killed, unconfined=True)
    for reason in (Reason.DISK_FULL, Reason.EVIDENCE_LOST):
        yield Trouble(Phase.EVIDENCE, reason, "")
    yield Trouble(Phase.SETUP, Reason.CASE_BROKEN, "")
    yield Trouble(Phase.SETUP, Reason.OTHER, "", acted=True)


def lost() -> Iterator[Judgement]:
    """Every attempt that the coordinator ends without a bundle."""
    granted = LeaseGranted(
        token="t", episode="e", attempt=1, device="d", worker="w", request_id="r"
    )
    losses = [
        DeviceLoss(device="d", lost=what, cause=cause).reason
        for what in ("device", "worker")
        for cause in Cause
    ]
    for reason in (*losses, Reason.WORKER_LOST, Reason.LEASE_EXPIRED):
        yield schedule.attempt_lost(OpenLease(granted, 0, 30), reason, "", 1).judgement


def judgements() -> list[Judgement]:
    judged = [judge(results, trouble) for results in (None, RESULTS[1]) for trouble in troubles()]
    judged += [judge(results, None, spent) for results in RESULTS for spent in SPENT]
    refused = upheld(judge(RESULTS[1], None), None, None, Reason.NONE)
    return [*judged, *lost(), refused]


def test_every_pair_that_infrastructure_can_fail_with_is_in_the_table_and_no_other() -> None:
    reached: dict[Phase, set[Reason]] = {}
    for judgement in judgements():
        if judgement.outcome is Outcome.INFRA_FAILED:
            reached.setdefault(judgement.phase, set()).add(judgement.reason)
    assert reached == {phase: set(reasons) for phase, reasons in INFRA_REASONS.items()}


def test_the_other_reasons_are_those_of_agents_and_of_inconclusive_attempts() -> None:
    found: dict[Outcome, set[Reason]] = {outcome: set() for outcome in Outcome}
    for judgement in judgements():
        found[judgement.outcome].add(judgement.reason)
    assert found[Outcome.TASK_FAILED] | found[Outcome.AGENT_FAILED] == BLAMED_ON_AGENT
    assert found[Outcome.ORACLE_INCONCLUSIVE] == INCONCLUSIVE_REASONS
    assert found[Outcome.SUCCESS] == {Reason.NONE}


def test_every_reason_but_none_has_one_family_of_counts() -> None:
    infra = frozenset().union(*INFRA_REASONS.values())
    kinds = [infra, BLAMED_ON_AGENT, INCONCLUSIVE_REASONS]
    assert sum(map(len, kinds)) == len(frozenset().union(*kinds))
    assert frozenset().union(*kinds) == frozenset(Reason) - {Reason.NONE}


@pytest.mark.parametrize("phase", [Phase.AGENT, Phase.ORACLE])
def test_no_fault_of_a_device_after_an_action_is_other(phase: Phase) -> None:
    """An agent that makes its phone answer oddly would hide there: the share of lost guests has
    every such episode."""
    told = Stopped(HostFact(True), acted=True, broke=False)
    context, loop = cast(AttemptContext, told), cast(AgentLoop, told)
    for reason in sorted(REASONS):
        judged = judge(None, trouble_of(DeviceFault(reason, "odd"), phase, context, loop))
        assert (judged.outcome, judged.reason) == (
            Outcome.ORACLE_INCONCLUSIVE, Reason.GUEST_LOST,
        ), reason  # fmt: skip
