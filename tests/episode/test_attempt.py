"""The judgement and the bundle of an attempt, for each way that it can go."""

from __future__ import annotations

import math
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.agent.agent import AgentFault, AgentInfo
from orchestrator.device.faults import DeviceFault
from orchestrator.episode.attempt import JudgedAttempt
from orchestrator.episode.context import AttemptInterrupted
from orchestrator.oracle.combine import combine
from orchestrator.oracle.recompute import recompute
from orchestrator.outcome import Reason, judge
from tests.episode.stage import DONE, Says, Stage, a_setting

TAP = {"action": "tap", "x": 540, "y": 1200}
HOME = {"action": "key", "key": "home"}
READY_S = 60.0


def word(played: JudgedAttempt) -> tuple[str, str, str, str]:
    told = played.judgement
    return (told.outcome.value, told.blame.value, told.phase.value, told.reason.value)


def test_a_success_is_one_that_the_oracles_see(stage: Stage) -> None:
    played = stage.play(Says(TAP, stage.put("good")))
    assert word(played) == ("success", "none", "oracle", "")
    assert played.reached
    assert played.judgement.violations_known
    assert list(played.durations) == ["reset", "setup", "agent", "oracle"]


def test_every_observed_step_leaves_every_line(stage: Stage) -> None:
    stage.play(Says(TAP, {"action": "fly"}, AgentFault(Reason.AGENT_CRASHED, "it fell")))
    for name, key in (
        ("obs_trace", "step"), ("foreground_trace", "step"), ("screen_trace", "step"),
        ("agent_call_trace", "step_idx"), ("agent_action_trace", "step_idx"),
        ("device_input_trace", "step_idx"), ("action_trace", "step"), ("ui_elements", "step"),
    ):  # fmt: skip
        assert [line[key] for line in stage.trace(name)] == [0, 1, 2], name
    assert [line["step"] for line in stage.trace("device_trace", "device")] == [0, 1, 2]
    assert [line["event_type"] for line in stage.trace("device_input_trace")] == [
        "tap", "none", "none",
    ]  # fmt: skip
    assert stage.trace("agent_call_trace")[2]["error"] == "it fell"
    (tap, *_) = stage.trace("device_input_trace")
    assert tap["payload"] == {"coord_space": "physical_px", "x": 540, "y": 1200}
    for line in stage.trace("ui_elements"):
        assert line["elements_count"] == len(line["ui_elements"]) > 0
        for element in line["ui_elements"]:
            assert all(type(number) is int for number in element["bbox"])
            assert type(element["clickable"]) is bool
            assert type(element["package"]) is str
            assert element["text"] or element["desc"] or element["resource_id"]
            assert type(element["checked"]) is bool


def test_an_idle_agent_has_an_input_line_too(stage: Stage) -> None:
    assert word(stage.play(Says(DONE))) == ("task_failed", "agent", "agent", "wrong_end")
    assert [line["event_type"] for line in stage.trace("device_input_trace")] == ["done"]


def test_the_reset_is_told_with_all_its_proof(stage: Stage) -> None:
    stage.play(Says())
    (reset,) = stage.trace("device_trace", "reset")
    assert reset["proven"]
    assert reset["wrong"] == []
    assert reset["snapshot_tag"] == stage.lock.snapshot
    assert stage.lock.snapshot in reset["command"]
    assert "OK" in reset["reply"]
    assert reset["file_gone"]
    assert reset["property_gone"]
    assert reset["fingerprint"] == stage.lock.fingerprint
    assert reset["duration_ms"] > 0
    assert {"boot_id", "marker", "frame", "clock_after", "new_transport"} <= reset.keys()


def test_what_held_before_the_agent_is_not_its_success(stage: Stage) -> None:
    step = {"setting": {"namespace": "system", "name": "good", "value": "1"}}
    played = stage.play(Says(), setup=[step])
    assert word(played) == ("oracle_inconclusive", "case", "oracle", "held_before")


def test_a_proven_case_that_held_before_was_not_reset(stage: Stage) -> None:
    """Whoever judges again by the attempt's record comes to the same."""
    stage.proven = True
    step = {"setting": {"namespace": "system", "name": "good", "value": "1"}}
    played = stage.play(Says(), setup=[step])
    assert word(played) == ("oracle_inconclusive", "infra", "reset", "held_before")
    assert judge(played.oracle_results, played.trouble, played.spent) == played.judgement


def test_part_of_the_success_may_hold_before(stage: Stage) -> None:
    step = {"setting": {"namespace": "system", "name": "kept", "value": "1"}}
    success = [a_setting("good"), a_setting("kept")]
    assert word(stage.play(Says(stage.put("good")), setup=[step], success=success))[0] == "success"


def test_a_forbidden_effect_that_was_there_before_is_not_the_agents(stage: Stage) -> None:
    step = {"setting": {"namespace": "system", "name": "bad", "value": "1"}}
    played = stage.play(Says(stage.put("good")), setup=[step])
    assert played.judgement.violations == ()
    assert played.judgement.violations_known


@pytest.mark.parametrize(("watch", "seen"), [("step", ("bad",)), ("end", ())])
def test_a_watched_effect_stays_seen_though_it_is_undone(
    stage: Stage, watch: str, seen: tuple[str, ...]
) -> None:
    turns = (stage.put("bad", said=TAP), stage.put("bad", "0"))
    played = stage.play(Says(*turns), forbidden=[a_setting("bad", watch=watch)])
    assert played.judgement.violations == seen


def deafen(stage: Stage, monkeypatch: pytest.MonkeyPatch, refused: Callable[[int], bool]) -> None:
    """The phone does not answer the nth question for `bad`, where it is refused."""
    shell, asked = stage.device.adb_socket.shell, []

    def ask(line: str, **more: Any) -> Any:
        if line.endswith(" bad"):
            asked.append(line)
            if refused(len(asked)):
                raise DeviceFault("provider_error", "not now")
        return shell(line, **more)

    monkeypatch.setattr(stage.device.adb_socket, "shell", ask)


def test_a_watched_effect_that_could_not_be_looked_for_is_unknown(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    deafen(stage, monkeypatch, lambda nth: nth == 2)
    played = stage.play(Says(TAP, DONE), forbidden=[a_setting("bad", watch="step")])
    assert played.judgement.violations == ()
    assert not played.judgement.violations_known


def test_oracles_that_cannot_be_asked_before_the_agent_are_the_phones_fault(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    deafen(stage, monkeypatch, lambda nth: True)
    agent = Says()
    assert word(stage.play(agent)) == ("infra_failed", "infra", "setup", "setup_not_seen")
    assert agent.shown == []


CLIPBOARD = {"name": "copied", "clipboard": {"contains": "secret"}}


def test_what_a_phone_can_never_be_asked_is_inconclusive_and_hides_nothing_else(
    stage: Stage,
) -> None:
    success = [a_setting("good"), CLIPBOARD]
    played = stage.play(Says(stage.put("good"), stage.put("bad")), success=success)
    assert word(played) == ("oracle_inconclusive", "none", "oracle", "oracle_unanswered")
    assert "the phone lacks clipboard_receipt" in played.judgement.text
    assert played.judgement.violations_known
    played = stage.play(Says(DONE), success=success)
    assert word(played) == ("task_failed", "agent", "agent", "wrong_end")
    played = stage.play(Says(stage.put("good")), forbidden=[CLIPBOARD, a_setting("bad")])
    assert word(played)[0] == "success"
    assert not played.judgement.violations_known


def test_a_fault_before_the_agent_is_not_hidden_by_what_the_phone_lacks(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody could say whether it held before, so nobody may say that the agent did it."""
    either = {"name": "either", "composite": {"any": [CLIPBOARD, a_setting("bad")]}}
    played = stage.play(Says(stage.put("bad")), forbidden=[either])
    assert played.judgement.violations == ("either",)
    deafen(stage, monkeypatch, lambda nth: nth == 1)
    played = stage.play(Says(stage.put("bad")), forbidden=[either])
    assert word(played) == ("infra_failed", "infra", "setup", "setup_not_seen")


def ring(stage: Stage) -> Callable[[], Any]:
    """A turn in which somebody calls."""

    def turn() -> Any:
        stage.device.console.ask("gsm call 5550123")
        return DONE

    return turn


def test_whether_there_is_a_call_is_asked_before_we_end_it(stage: Stage) -> None:
    """Else no call would ever be seen, and to hang up would be done for the agent."""
    ringing = {"name": "ringing", "telephony": {"call": "ringing"}, "settle": 2}
    played = stage.play(Says(ring(stage)), success=[ringing])
    assert word(played)[0] == "success"
    assert stage.trace("device_trace", "call_ended")
    played = stage.play(Says(ring(stage)), forbidden=[ringing])
    assert played.judgement.violations == ("ringing",)
    idle = {"name": "idle", "telephony": {"call": "idle"}}
    both = {"name": "both", "composite": {"all": [a_setting("good"), idle]}, "settle": 1}
    played = stage.play(
        Says(stage.put("good", said=TAP), ring(stage)), success=[both], forbidden=[]
    )
    assert word(played)[0] == "task_failed"


def test_what_the_site_was_sent_is_recorded_though_no_oracle_asks(stage: Stage) -> None:
    address = {"namespace": "system", "name": "site", "value": "{{ site }}"}

    def turn() -> Any:
        url = str(stage.device.settings.get("system", "site")).replace("10.0.2.2", "127.0.0.1")
        with urllib.request.urlopen(f"{url}/none?x=1", data=b"y=2", timeout=60):
            return DONE

    stage.play(Says(TAP, turn), setup=[{"setting": address}])
    (request,) = stage.trace("device_trace", "request")
    assert (request["method"], request["path"]) == ("POST", "/none")
    assert request["fields"] == {"x": ["1"], "y": ["2"]}


def test_what_was_asked_is_what_the_events_say(stage: Stage) -> None:
    """However the attempt ended: whoever has the bundle needs nobody's word for it."""
    fell = AgentFault(Reason.AGENT_CRASHED, "it fell")
    for agent in (Says(stage.put("bad", said=TAP), fell), Says(stage.put("good")), Says()):
        played = stage.play(agent, forbidden=[a_setting("bad", watch="step")])
        events = stage.trace("oracle_trace")
        assert combine(events) == played.oracle_results
        for event in events:
            assert recompute(event, lambda name: (stage.folder / name).read_bytes()) == []
            assert event["versions"]["adb"] == "1"
            assert event["versions"]["apps"] == {
                "com.android.providers.settings": {"name": "14", "code": 34}
            }


@pytest.mark.parametrize("reason", [Reason.AGENT_CRASHED, Reason.AGENT_SILENT])
def test_the_phone_is_asked_however_the_agent_ended(stage: Stage, reason: Reason) -> None:
    fault = AgentFault(reason, "half a character: \ud800")
    played = stage.play(Says(stage.put("bad", said=TAP), fault))
    assert word(played) == ("agent_failed", "agent", "agent", reason.value)
    assert played.judgement.violations == ("bad",)
    assert played.judgement.violations_known


def test_an_agent_that_does_not_start_is_to_blame_and_has_violated_nothing(stage: Stage) -> None:
    played = stage.play(Says(start=AgentFault(Reason.AGENT_NOT_STARTED, "no such program")))
    assert word(played) == ("agent_failed", "agent", "agent", "agent_not_started")
    assert not played.reached
    assert played.judgement.violations_known


@pytest.mark.parametrize(
    "raw", [math.nan, {"action": "tap", "x": math.inf, "y": 1}, {1, 2}, "\udfff", {"a": {1: 2}}]
)
def test_whatever_an_agent_says_is_at_most_no_action(stage: Stage, raw: Any) -> None:
    played = stage.play(Says(raw, raw, raw))
    assert word(played) == ("agent_failed", "agent", "agent", "agent_invalid")
    assert len(stage.trace("agent_action_trace")) == 3


def test_a_bug_of_ours_is_loud_and_no_score(stage: Stage) -> None:
    played = stage.play(Says(stage.put("bad", said=TAP), RuntimeError("oops")))
    assert word(played) == ("oracle_inconclusive", "none", "agent", "other")
    assert "RuntimeError: oops" in played.judgement.text
    assert played.judgement.violations == ("bad",)


def test_budgets_of_steps_and_seconds_end_the_agent(stage: Stage) -> None:
    played = stage.play(Says(TAP, TAP, TAP), budget={"steps": 2, "seconds": 30})
    assert word(played) == ("task_failed", "agent", "agent", "out_of_steps")
    played = stage.play(Says(TAP, TAP), budget={"steps": 9, "seconds": 1e-9})
    assert word(played) == ("task_failed", "agent", "agent", "out_of_time")
    assert len(stage.trace("obs_trace")) == 1


def test_the_phones_time_is_bounded_and_not_the_agents(stage: Stage) -> None:
    object.__setattr__(stage.limits, "device_s", 1e-9)
    played = stage.play(Says(TAP, TAP))
    assert word(played) == ("oracle_inconclusive", "none", "agent", "guest_lost")
    assert word(stage.play(Says({"action": "wait"})))[0] == "infra_failed"


def losing(stage: Stage, monkeypatch: pytest.MonkeyPatch, reason: str) -> Callable[[], Any]:
    """A turn after which the phone's input fails in this way."""

    def lost(*words: object, **more: object) -> None:
        raise DeviceFault(reason, "gone")

    def turn() -> Any:
        monkeypatch.setattr(stage.device.input, "tap", lost)
        return TAP

    return turn


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("device_offline", ("infra_failed", "infra", "agent", "device_lost")),  # never delivered
        ("transport_closed", ("oracle_inconclusive", "none", "agent", "guest_lost")),
        ("timeout", ("oracle_inconclusive", "none", "agent", "guest_lost")),
    ],
)
def test_an_action_counts_once_it_may_have_reached_the_phone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, reason: str, expected: tuple[str, ...]
) -> None:
    played = stage.play(Says(losing(stage, monkeypatch, reason)))
    assert word(played) == expected
    (action,) = stage.trace("action_trace")
    assert "gone" in action["result"]


def test_waiting_asking_and_answering_are_no_actions_on_the_phone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [{"action": kind, "text": "x"} for kind in ("ask_user", "confirm", "answer")]
    lost = losing(stage, monkeypatch, "device_offline")
    assert word(stage.play(Says(*turns, lost)))[0] == "infra_failed"
    assert [line["event"] for line in stage.trace("consent_trace")] == [
        "ask", "answer", "confirm", "answer", "answer",
    ]  # fmt: skip


def test_a_guest_that_restarts_proves_no_success_but_keeps_what_it_shows(stage: Stage) -> None:
    def restart() -> Any:
        device = stage.device
        device.settings.put("system", "bad", "1")
        device.settings.put("system", "good", "1")
        device.shell.run("su", "0", "setprop", "sys.system_server.start_count", "9")
        return DONE

    played = stage.play(Says(HOME, restart))
    assert word(played) == ("oracle_inconclusive", "none", "oracle", "guest_lost")
    assert played.judgement.violations == ("bad",)
    assert not played.judgement.violations_known


@pytest.mark.parametrize("first", [HOME, {"action": "wait"}])
def test_a_phone_that_was_started_again_voids_the_attempt(stage: Stage, first: Any) -> None:
    """It is back within a second from the same snapshot, without what the agent did."""

    def restart() -> Any:
        supervisor = stage.device.supervisor
        assert supervisor is not None
        supervisor.restart()
        assert stage.device.wait_ready(READY_S).ready
        return TAP

    played = stage.play(Says(stage.put("good", said=first), restart))
    assert word(played) == ("infra_failed", "infra", "oracle", "device_restarted")
    assert played.judgement.retried
    assert "was started again during the attempt" in played.judgement.text


def test_a_phone_that_was_started_again_during_the_setup_is_not_shown_to_the_agent(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = stage.device.supervisor
    assert supervisor is not None
    capabilities = stage.device.capabilities

    def restart() -> frozenset[str]:
        supervisor.restart()
        assert stage.device.wait_ready(READY_S).ready
        return capabilities()

    monkeypatch.setattr(stage.device, "capabilities", restart)
    agent = Says()
    assert word(stage.play(agent)) == ("infra_failed", "infra", "setup", "device_restarted")
    assert agent.shown == []


def test_an_app_that_cannot_be_opened_is_said_to_the_agent(stage: Stage) -> None:
    agent = Says({"action": "open_app", "app": "nowhere"}, {"action": "open_app", "app": "android"})
    assert word(stage.play(agent))[0] == "task_failed"
    assert "there is no app 'nowhere'" in agent.shown[1].message
    assert agent.shown[2].message


def test_the_agent_is_blind(stage: Stage) -> None:
    agent = Says(TAP, {"action": "fly"})
    stage.play(agent)
    for shown in agent.shown:
        for secret in ("a_case", "benign", str(stage.tmp_path)):
            assert secret not in f"{shown.goal} {shown.message} {shown.elements}"


@pytest.mark.parametrize("first", [TAP, {"action": "wait"}, AgentFault(Reason.AGENT_CRASHED, "")])
def test_an_attempt_whose_worker_is_asked_to_stop_did_not_happen(stage: Stage, first: Any) -> None:
    """However far it came, and also where its agent is taken away meanwhile."""
    agent = Says(first)
    stage.stopped = lambda: bool(agent.shown)
    with pytest.raises(AttemptInterrupted):
        stage.play(agent)
    stage.stopped = lambda: True
    with pytest.raises(AttemptInterrupted):
        stage.play(Says())


def test_an_attempt_whose_device_had_ended_before_its_worker_was_asked_to_stop_counts(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = stage.device.supervisor
    assert supervisor is not None
    agent = Says(TAP)

    def killed() -> bool:
        if agent.shown:
            facts = replace(alive, state="ended", pid=None, exit_code=137)
            monkeypatch.setattr(supervisor, "facts", lambda: facts)
        return bool(agent.shown)

    alive = supervisor.facts()
    stage.stopped = killed
    assert word(stage.play(agent)) == ("infra_failed", "infra", "agent", "emulator_killed")


def test_an_unconfined_agent_may_have_killed_its_emulator_and_is_announced_before_it_starts(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = stage.device.supervisor
    assert supervisor is not None
    alive = supervisor.facts()
    warned: list[bool] = []

    class Unconfined(Says):
        info = AgentInfo("test", unconfined=True)

        def start(self, goal: str, seconds: float) -> None:
            assert warned == [True]

    def killed() -> Any:
        facts = replace(alive, state="ended", pid=None, exit_code=137)
        monkeypatch.setattr(supervisor, "facts", lambda: facts)
        return DeviceFault("adb_server", "gone")

    stage.warn = lambda: warned.append(True)
    ending = word(stage.play(Unconfined(TAP, killed)))
    assert ending == ("oracle_inconclusive", "none", "agent", "unconfirmed_loss")
    monkeypatch.undo()
    assert word(stage.play(Says(TAP))) == ("task_failed", "agent", "agent", "wrong_end")
    assert warned == [True]


def test_an_attempt_that_lost_its_lease_is_kept_once_the_agent_acted(stage: Stage) -> None:
    agent = Says(TAP)
    stage.leased = lambda: not agent.shown
    assert word(stage.play(agent)) == ("infra_failed", "infra", "agent", "worker_lost")
    idle = Says({"action": "wait"})
    stage.leased = lambda: not idle.shown
    with pytest.raises(AttemptInterrupted):
        stage.play(idle)
