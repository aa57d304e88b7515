"""An attempt whose device ends, hangs or loses its adb server on the host is given up at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.device.adb import adb_binary
from orchestrator.episode.attempt import JudgedAttempt
from orchestrator.farm.simulated_phone import simulator
from orchestrator.fleet.local.boot import boot
from orchestrator.fleet.local.device import LocalDevice
from orchestrator.image.golden_cache import GoldenImage
from tests.episode.stage import DONE, Says, Stage, a_setting
from tests.supervisor.supervised import adb_server_on, until

TAP = {"action": "tap", "x": 540, "y": 1200}


@pytest.fixture
def doomed(image: GoldenImage, tmp_path: Path) -> Iterator[Stage]:
    """A phone of the test's own, whose supervisor stays to say how it ended."""
    folder = tmp_path / "device"
    with LocalDevice(
        folder, image.golden, simulator(), adb=adb_binary(), env=dict(os.environ), linger_s=600.0
    ) as running:
        device, _ = boot(running)
        yield Stage(device, image.lock, tmp_path)


def word(played: JudgedAttempt) -> tuple[str, str, str, str]:
    told = played.judgement
    return (told.outcome.value, told.blame.value, told.phase.value, told.reason.value)


def to_emulator(stage: Stage, number: signal.Signals, said: Any = TAP) -> Callable[[], Any]:
    """A turn in which the host sends the emulator's process a signal."""

    def turn() -> Any:
        assert stage.device.supervisor is not None
        pid = stage.device.supervisor.facts().pid
        assert pid is not None
        os.kill(pid, number)
        return said

    return turn


def ended(stage: Stage) -> bool:
    assert stage.device.supervisor is not None
    return stage.device.supervisor.health().state == "ended"


def test_a_phone_that_was_killed_is_not_climbed_after(doomed: Stage) -> None:
    """No rung of the reset's ladder is tried once its supervisor says that it ended."""
    to_emulator(doomed, signal.SIGKILL)()
    until(lambda: ended(doomed), "the supervisor knows")
    agent = Says()
    played = doomed.play(agent)
    assert word(played) == ("infra_failed", "infra", "reset", "emulator_killed")
    assert doomed.trace("device_trace", "reset") == []
    assert agent.shown == []
    assert "the emulator has ended" in played.judgement.text


def test_a_phone_that_is_killed_while_it_is_reset_ends_the_reset(
    doomed: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = doomed.device.console.load_snapshot

    def killed(tag: str) -> str:
        reply = load(tag)
        to_emulator(doomed, signal.SIGKILL)()
        until(lambda: ended(doomed), "the supervisor knows")
        return reply

    monkeypatch.setattr(doomed.device.console, "load_snapshot", killed)
    played = doomed.play(Says())
    assert word(played) == ("infra_failed", "infra", "reset", "emulator_killed")
    # The supervisor is asked now and then, so the rung under way may fail before it is.
    assert len(doomed.trace("device_trace", "reset")) <= 1
    assert "the emulator has ended" in played.judgement.text


def test_a_phone_whose_supervisor_was_killed_is_given_up(doomed: Stage) -> None:
    played = doomed.play(Says(TAP, killed_supervisor(doomed), TAP, TAP))
    assert word(played) == ("infra_failed", "infra", "agent", "host_lost")


def killed_supervisor(stage: Stage) -> Callable[[], Any]:
    def turn() -> Any:
        assert stage.device.supervisor is not None
        pid = stage.device.supervisor.facts().pid
        assert pid is not None
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        return TAP

    return turn


def test_an_emulator_that_the_host_stops_is_infrastructure_and_tried_again(doomed: Stage) -> None:
    """What was seen of a violation before is kept."""
    turns = (doomed.put("bad", said=TAP), to_emulator(doomed, signal.SIGSTOP), TAP)
    played = doomed.play(Says(*turns), forbidden=[a_setting("bad", watch="step")])
    assert word(played) == ("infra_failed", "infra", "agent", "emulator_hung")
    assert played.judgement.retried
    assert played.judgement.violations == ("bad",)
    assert "state T" in played.judgement.text


def test_an_emulator_that_stops_while_the_oracles_are_asked_is_so_too(doomed: Stage) -> None:
    turns = (TAP, to_emulator(doomed, signal.SIGSTOP, DONE))
    played = doomed.play(Says(*turns))
    assert word(played) == ("infra_failed", "infra", "oracle", "emulator_hung")


def test_an_adb_server_that_is_stopped_is_replaced_and_is_the_hosts(doomed: Stage) -> None:
    server = adb_server_on(doomed.device.adb_socket.server_port)

    def stop() -> Any:
        os.kill(server, signal.SIGSTOP)
        return TAP

    played = doomed.play(Says(TAP, stop))
    assert word(played) == ("infra_failed", "infra", "agent", "adb_server_lost")
    assert played.trouble is not None
    assert played.trouble.host is not None
    assert "state T" in played.trouble.host.text
    assert word(doomed.play(Says(doomed.put("good"))))[0] == "success"


def test_a_guest_that_is_shut_down_from_inside_is_the_agents_doing(doomed: Stage) -> None:
    """Its emulator ends with code 0; the log says who asked for it."""

    def shut_down() -> Any:
        doomed.device.shell.run("svc", "power", "shutdown")
        until(lambda: ended(doomed), "the emulator has ended")
        return TAP

    played = doomed.play(Says(TAP, shut_down))
    assert word(played) == ("agent_failed", "agent", "agent", "agent_broke_device")
    assert "sys.powerctl='shutdown,userrequested'" in played.judgement.text
