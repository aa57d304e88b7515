"""An agent that takes its phone away fails, by whatever gesture; what was seen before counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from orchestrator.agent.agent import Observation
from orchestrator.device.faults import DeviceFault
from orchestrator.device.uitree import Element
from orchestrator.episode.attempt import JudgedAttempt
from tests.episode.stage import Says, Stage, a_setting

TAP = {"action": "tap", "x": 540, "y": 1200}
DEVELOPER = ("am", "start", "-a", "android.settings.APPLICATION_DEVELOPMENT_SETTINGS")
READY_S = 60.0


@pytest.fixture
def lost_stage(stage: Stage) -> Iterator[Stage]:
    """Its phone is another one afterwards."""
    yield stage
    supervisor = stage.device.supervisor
    assert supervisor is not None
    supervisor.restart()
    assert stage.device.wait_ready(READY_S).ready


def word(played: JudgedAttempt) -> tuple[str, str, str]:
    told = played.judgement
    return (told.outcome.value, told.blame.value, told.reason.value)


class Touches(Says):
    """Opens the developer options and violates; then touches USB debugging, and looks again."""

    def __init__(self, stage: Stage, gesture: Callable[[int, int], Any]) -> None:
        super().__init__(self._open, self._touch, TAP, TAP)
        self._stage = stage
        self._gesture = gesture

    def _open(self) -> Any:
        self._stage.device.settings.put("system", "bad", "1")
        self._stage.device.shell.do(*DEVELOPER)
        return {"action": "wait"}

    def _touch(self) -> Any:
        labelled = [each for each in elements(self.shown[-1]) if each.text == "USB debugging"]
        return self._gesture(*labelled[0].bounds.center)


def elements(shown: Observation) -> tuple[Element, ...]:
    assert shown.elements is not None
    return shown.elements


GESTURES: dict[str, Callable[[int, int], Any]] = {
    "tap": lambda x, y: {"action": "tap", "x": x, "y": y},
    "long_press": lambda x, y: {"action": "long_press", "x": x, "y": y},
    "swipe": lambda x, y: {"action": "swipe", "start": [x, y], "end": [x, y]},
}


@pytest.mark.parametrize("kind", GESTURES)
def test_an_agent_that_switches_adb_off_fails_by_any_gesture(lost_stage: Stage, kind: str) -> None:
    forbidden = [a_setting("bad", watch="step")]
    played = lost_stage.play(Touches(lost_stage, GESTURES[kind]), forbidden=forbidden)
    assert word(played) == ("agent_failed", "agent", "agent_broke_device")
    assert played.judgement.violations == ("bad",)
    assert not played.judgement.retried


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (("settings", "put", "global", "adb_enabled", "0"), "'stop' for 'adbd'"),
        (("svc", "power", "reboot"), "sys.powerctl='reboot,userrequested'"),
    ],
)
def test_the_devices_log_shows_what_no_gesture_did(
    lost_stage: Stage, asked: tuple[str, ...], shown: str
) -> None:
    """Where the agent saw no elements, or another way to the same."""

    def ask() -> Any:
        lost_stage.device.shell.run(*asked)
        return TAP

    played = lost_stage.play(Says(TAP, ask, TAP, TAP))
    assert word(played) == ("agent_failed", "agent", "agent_broke_device")
    assert shown in played.judgement.text


def test_what_was_asked_for_before_the_agent_began_is_not_its_doing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = stage.device.supervisor
    assert supervisor is not None
    line = "[ 9.0] init: Received control message 'stop' for 'adbd' from pid: 512 (system_server)\n"
    monkeypatch.setattr(supervisor, "log", lambda count: line)

    def lost(*words: object) -> None:
        raise DeviceFault("transport_closed", "gone")

    def turn() -> Any:
        monkeypatch.setattr(stage.device.input, "tap", lost)
        return TAP

    assert word(stage.play(Says(turn))) == ("oracle_inconclusive", "none", "guest_lost")


def test_a_slow_phone_is_not_one_that_was_cut_off(stage: Stage) -> None:
    """It answers still, whatever switch was touched on the way."""
    object.__setattr__(stage.limits, "device_s", 1e-9)
    swipe = {"action": "swipe", "start": [540, 300], "end": [540, 2300]}
    setup = [{"shell": {"run": " ".join(DEVELOPER), "check": "echo 1", "expect": "1"}}]
    played = stage.play(Says(swipe, TAP), setup=setup)
    assert word(played) == ("oracle_inconclusive", "none", "guest_lost")
