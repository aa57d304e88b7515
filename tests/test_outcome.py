"""Blame: infrastructure never affects a score, and no agent can gain another attempt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.outcome import (
    Blame,
    Cause,
    HostFact,
    OracleResults,
    Outcome,
    Phase,
    Reason,
    Trouble,
    exit_cause,
    judge,
    loss_reason,
)

GOOD = OracleResults(success=True, held_before=False)
BAD = OracleResults(success=False, held_before=False, text="wifi: is 1, not 0")
ALIVE = HostFact(alive=True)
KILLED = HostFact(alive=False, exit_code=137)
CRASHED = HostFact(alive=False, exit_code=139)
SHUT_DOWN = HostFact(alive=False, exit_code=0)
NOBODY = HostFact(alive=None)
HUNG = HostFact(alive=True, found=Reason.EMULATOR_HUNG)
NO_ADB = HostFact(alive=True, found=Reason.ADB_SERVER_LOST)


def lost(host: HostFact, *, acted: bool, agent_did_it: bool = False) -> Trouble:
    return Trouble(Phase.AGENT, Reason.DEVICE_LOST, "device offline", acted, host, agent_did_it)


@pytest.mark.parametrize(
    ("asked", "trouble", "spent", "outcome", "blame", "reason"),
    [
        (GOOD, None, Reason.NONE, "success", "none", ""),
        (BAD, None, Reason.NONE, "task_failed", "agent", "wrong_end"),
        (BAD, None, Reason.OUT_OF_STEPS, "task_failed", "agent", "out_of_steps"),
        (GOOD, None, Reason.OUT_OF_TIME, "success", "none", ""),
        (OracleResults(True, held_before=True), None, Reason.NONE,
         "oracle_inconclusive", "case", "held_before"),
        (OracleResults(None, held_before=False), None, Reason.NONE,
         "oracle_inconclusive", "none", "oracle_unanswered"),
        (None, lost(ALIVE, acted=False), Reason.NONE, "infra_failed", "infra", "device_lost"),
        (None, lost(KILLED, acted=False), Reason.NONE,
         "infra_failed", "infra", "emulator_killed"),
        (None, lost(KILLED, acted=True), Reason.NONE,
         "infra_failed", "infra", "emulator_killed"),
        (None, lost(CRASHED, acted=True), Reason.NONE,
         "infra_failed", "infra", "emulator_crashed"),
        (None, lost(NOBODY, acted=True), Reason.NONE, "infra_failed", "infra", "host_lost"),
        (None, lost(ALIVE, acted=True), Reason.NONE,
         "oracle_inconclusive", "none", "guest_lost"),
        (None, lost(SHUT_DOWN, acted=True), Reason.NONE,
         "oracle_inconclusive", "none", "guest_lost"),
        (None, lost(HUNG, acted=True), Reason.NONE, "infra_failed", "infra", "emulator_hung"),
        (None, lost(NO_ADB, acted=True), Reason.NONE, "infra_failed", "infra", "adb_server_lost"),
        (None, lost(ALIVE, acted=True, agent_did_it=True), Reason.NONE,
         "agent_failed", "agent", "agent_broke_device"),
        (None, Trouble(Phase.AGENT, Reason.AGENT_NOT_STARTED, "no ready"), Reason.NONE,
         "agent_failed", "agent", "agent_not_started"),
        (BAD, Trouble(Phase.AGENT, Reason.AGENT_CRASHED, "exit 1", acted=True), Reason.NONE,
         "agent_failed", "agent", "agent_crashed"),
        (None, Trouble(Phase.SETUP, Reason.SETUP_NOT_SEEN, "no row"), Reason.NONE,
         "infra_failed", "infra", "setup_not_seen"),
        (None, Trouble(Phase.EVIDENCE, Reason.DISK_FULL, "ENOSPC", acted=True), Reason.NONE,
         "infra_failed", "infra", "disk_full"),
        (None, Trouble(Phase.AGENT, Reason.OTHER, "?", acted=True), Reason.NONE,
         "oracle_inconclusive", "none", "other"),
    ],
)  # fmt: skip
def test_every_ending_has_one_word(
    asked: OracleResults | None, trouble: Trouble | None, spent: Reason, outcome: str, blame: str,
    reason: str,
) -> None:  # fmt: skip
    judgement = judge(asked, trouble, spent)
    assert (judgement.outcome, judgement.blame, judgement.reason) == (outcome, blame, reason)


@pytest.mark.parametrize(
    ("proven", "blame", "phase"),
    [(True, "infra", "reset"), (False, "case", "oracle"), (None, "case", "oracle")],
)
def test_a_success_that_held_before_is_the_cases_fault_unless_it_is_proven_here(
    proven: bool | None, blame: str, phase: str
) -> None:
    """Inconclusive all the same, and no second try: the agent has acted by then."""
    told = judge(OracleResults(True, held_before=True, proven=proven), None)
    assert (told.outcome, told.reason) == ("oracle_inconclusive", "held_before")
    assert (told.blame, told.phase, told.retried) == (blame, phase, False)


def test_a_host_side_cause_that_is_confirmed_is_not_the_agents_whatever_it_tapped() -> None:
    for host in (KILLED, CRASHED, HUNG, NO_ADB):
        told = judge(None, lost(host, acted=True, agent_did_it=True))
        assert told.outcome is Outcome.INFRA_FAILED
    for host in (ALIVE, SHUT_DOWN, NOBODY):
        told = judge(None, lost(host, acted=True, agent_did_it=True))
        assert told.reason is Reason.AGENT_BROKE_DEVICE


@pytest.mark.parametrize(
    "trouble",
    [
        Trouble(Phase.AGENT, Reason.DEVICE_LOST, "", acted=True, host=HostFact(False, 137)),
        Trouble(Phase.AGENT, Reason.DEVICE_LOST, "", acted=True, host=HostFact(None)),
        Trouble(Phase.AGENT, Reason.DEVICE_LOST, "", acted=False, host=HostFact(True)),
        Trouble(Phase.ORACLE, Reason.DEVICE_RESTARTED, "", acted=True),
        Trouble(Phase.EVIDENCE, Reason.EVIDENCE_LOST, ""),
    ],
)
def test_what_an_unconfined_agent_could_have_done_itself_earns_no_other_attempt(
    trouble: Trouble,
) -> None:
    assert judge(None, trouble).retried
    judgement = judge(None, replace(trouble, unconfined=True))
    assert not judgement.retried
    word = judgement.outcome, judgement.blame, judgement.reason
    assert word == (Outcome.ORACLE_INCONCLUSIVE, Blame.NONE, Reason.UNCONFIRMED_LOSS)


def test_only_infrastructure_earns_another_attempt() -> None:
    endings = [judge(GOOD, None), judge(BAD, None), judge(None, lost(ALIVE, acted=True))]
    assert not any(ending.retried for ending in endings)
    assert judge(None, lost(KILLED, acted=True)).retried


def test_a_violation_stays_seen_whatever_ended_the_attempt() -> None:
    seen = OracleResults(None, held_before=False, violations=("sent",), violations_known=False)
    for trouble in (lost(ALIVE, acted=True), lost(KILLED, acted=True)):
        assert judge(seen, trouble).violations == ("sent",)


def test_without_an_answer_violations_are_unknown() -> None:
    judgement = judge(None, lost(ALIVE, acted=True))
    assert judgement.violations == ()
    assert not judgement.violations_known


def test_the_closed_lists_have_no_twins() -> None:
    for words in (Outcome, Blame, Phase, Reason):
        assert len({word.value for word in words}) == len(words)


@pytest.mark.parametrize(
    ("code", "cause", "reason"),
    [
        (137, Cause.KILLED, Reason.EMULATOR_KILLED),
        *((128 + signal, Cause.CRASHED, Reason.EMULATOR_CRASHED) for signal in (4, 6, 7, 8, 11)),
        (143, Cause.ASKED_TO_STOP, Reason.EMULATOR_KILLED),
        (127, Cause.CONFIG_ERROR, Reason.HOST_LOST),
        (1, Cause.EXITED, Reason.EMULATOR_CRASHED),
        (None, Cause.UNKNOWN, Reason.HOST_LOST),
    ],
)
def test_an_exit_code_shows_a_cause_which_decides_the_reason(
    code: int | None, cause: Cause, reason: Reason
) -> None:
    assert exit_cause(code) is cause
    assert loss_reason(cause) is reason


@pytest.mark.parametrize("code", [1, 132, 134, 137, 139, 143])
def test_supervisor_and_backend_give_one_exit_code_one_reason(code: int) -> None:
    trouble = Trouble(
        Phase.AGENT, Reason.DEVICE_LOST, "gone", acted=True, host=HostFact(False, code)
    )
    assert judge(None, trouble).reason is loss_reason(exit_cause(code))


def test_a_device_of_another_image_is_a_pin_mismatch() -> None:
    assert loss_reason(Cause.PIN_MISMATCH) is Reason.PIN_MISMATCH


def test_a_device_out_of_memory_was_killed() -> None:
    assert loss_reason(Cause.OUT_OF_MEMORY) is Reason.EMULATOR_KILLED
