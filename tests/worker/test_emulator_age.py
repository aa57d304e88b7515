"""An emulator's age is its supervisor's start and the attempts that loaded its snapshot since."""

from __future__ import annotations

from typing import cast

from orchestrator.device.faults import DeviceFault
from orchestrator.device.supervisor_client import SupervisorClient, SupervisorFacts
from orchestrator.outcome import EmulatorAge
from orchestrator.worker.emulator_age import EmulatorWear


class Supervisor:
    """Knows when its emulator started, how often it did, or does not answer."""

    def __init__(self) -> None:
        self.started_at: float | None = 100.0
        self.restarts = 0

    def facts(self) -> SupervisorFacts:
        if self.started_at is None:
            raise DeviceFault("supervisor", "no answer")
        facts = dict.fromkeys(SupervisorFacts.__dataclass_fields__)
        facts |= {"started_at": self.started_at, "restarts": self.restarts}
        return SupervisorFacts(**facts)  # type: ignore[arg-type]


def wear(supervisor: Supervisor, now: float = 130.0) -> EmulatorWear:
    return EmulatorWear(cast(SupervisorClient, supervisor), lambda: now)


def test_each_attempt_finds_the_emulator_a_load_older() -> None:
    worn = wear(Supervisor())
    assert [worn.begin_attempt() for _ in range(2)] == [EmulatorAge(0, 30.0), EmulatorAge(1, 30.0)]
    worn.restarted()
    assert worn.begin_attempt() == EmulatorAge(0, 30.0)


def test_a_reset_that_started_the_emulator_again_has_loaded_it_once() -> None:
    supervisor = Supervisor()
    worn = wear(supervisor)
    for _ in range(5):
        worn.begin_attempt()
    supervisor.restarts, supervisor.started_at = 1, 120.0
    assert worn.begin_attempt() == EmulatorAge(1, 10.0)
    assert worn.loads == 2


def test_without_an_answer_the_age_is_unknown_and_the_loads_still_count() -> None:
    supervisor = Supervisor()
    worn = wear(supervisor)
    supervisor.started_at = None
    assert (worn.begin_attempt(), worn.booted(120), worn.loads) == (None, None, 1)
    assert EmulatorWear(None).begin_attempt() is None


def test_a_boot_counts_from_the_emulator_s_start() -> None:
    """Also where a worker is only started once its phone has booted, as in a Pod."""
    assert wear(Supervisor()).booted(120) == 30.0
    assert wear(Supervisor(), now=99.0).booted(120) == 0.0  # a clock that was set back


def test_an_emulator_that_had_been_up_for_long_was_not_booted_for_this_worker() -> None:
    assert wear(Supervisor(), now=400.0).booted(120) is None
