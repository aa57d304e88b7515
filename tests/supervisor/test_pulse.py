"""What counts as a hang, and what is only a busy, slow or silent process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.supervisor.pulse import (
    SILENT_LOOKS,
    STILL_CPU_S,
    STOPPED_LOOKS,
    ProcessLook,
    hung,
    look_at,
    stopped_or_dead,
)
from tests.supervisor.supervised import Start, Supervisor, until

STILL = ProcessLook(stopped=False, asleep=True, cpu_s=3.0, log_end=100, silent=True)
STOPPED = replace(STILL, stopped=True, asleep=False, silent=False)


def test_a_process_that_stopped_or_dead_is_hung_after_a_few_looks() -> None:
    assert "state T" in hung([STOPPED] * STOPPED_LOOKS)
    assert hung([STOPPED] * (STOPPED_LOOKS - 1)) == ""
    assert hung([*[STOPPED] * STOPPED_LOOKS, STILL]) == ""  # it was continued


def test_a_process_that_stands_still_is_hung_after_many_looks() -> None:
    assert "stands still" in hung([STILL] * SILENT_LOOKS)
    assert hung([STILL] * (SILENT_LOOKS - 1)) == ""


@pytest.mark.parametrize(
    "once",
    [
        lambda look: replace(look, silent=False),  # its console answered
        lambda look: replace(look, asleep=False),  # it ran, or waited for a processor or a disk
    ],
)
@pytest.mark.parametrize("at", [0, SILENT_LOOKS // 2, SILENT_LOOKS - 1])
def test_one_sign_of_life_is_enough(once: Callable[[ProcessLook], ProcessLook], at: int) -> None:
    looks = [STILL] * SILENT_LOOKS
    looks[at] = once(STILL)
    assert hung(looks) == ""


@pytest.mark.parametrize(
    "after",
    [replace(STILL, cpu_s=STILL.cpu_s + STILL_CPU_S + 0.1), replace(STILL, log_end=101)],
)
def test_a_guest_that_computes_between_the_looks_or_speaks_is_not_hung(after: ProcessLook) -> None:
    """However silent its console is: that is what an agent could bring about."""
    assert hung([*[STILL] * (SILENT_LOOKS - 1), after]) == ""


def test_a_process_is_looked_at_with_its_threads(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as process:
        try:

            def look() -> ProcessLook:
                found = look_at(process.pid, tmp_path / "none", silent=False)
                assert found is not None
                return found

            until(lambda: look().asleep, "it sleeps")
            assert not stopped_or_dead(process.pid)
            process.send_signal(signal.SIGSTOP)
            until(lambda: look().stopped, "it is stopped")
            assert stopped_or_dead(process.pid)
            assert not look().asleep
        finally:
            process.kill()
    assert look_at(process.pid, tmp_path, silent=False) is None
    assert not stopped_or_dead(process.pid)


def test_a_busy_process_is_not_asleep(tmp_path: Path) -> None:
    me = look_at(os.getpid(), tmp_path, silent=True)
    assert me is not None
    assert not me.asleep
    assert me.cpu_s > 0


def test_an_emulator_that_stopped_or_dead_is_a_fact(start: Start) -> None:
    device = start().ready()
    device.grandchild()
    pid = device.facts()["pid"]
    assert (device.facts()["hung"], device.facts()["doubtful"]) == ("", False)
    os.kill(pid, signal.SIGSTOP)
    until(lambda: device.facts()["doubtful"], "there is doubt at once")
    until(lambda: "state T" in device.facts()["hung"], "it hangs")
    assert device.ask("GET", "/healthz")[0] == 503
    assert device.facts()["state"] == "running"
    os.kill(pid, signal.SIGCONT)
    until(lambda: device.facts()["hung"] == "", "it runs again")
    assert device.ask("GET", "/healthz")[0] == 200


def test_an_adb_server_that_stopped_or_dead_is_replaced_with_its_cause(start: Start) -> None:
    device = start().ready()
    old = device.adb_server()
    os.kill(old, signal.SIGSTOP)
    until(lambda: device.facts()["adb_restarts"] == 1, "it is ended")
    assert "state T" in device.facts()["adb_lost"]
    until(lambda: device.adb_server() not in (0, old), "another one runs")


@pytest.mark.parametrize(("number", "lost"), [(signal.SIGKILL, True), (signal.SIGSEGV, False)])
def test_only_what_the_host_did_to_an_adb_server_is_said(
    start: Start, number: signal.Signals, lost: bool
) -> None:
    """A guest might crash it, by what its adbd says."""
    device: Supervisor = start().ready()
    os.kill(device.adb_server(), number)
    until(lambda: device.facts()["adb_restarts"] == 1, "it is started again")
    assert bool(device.facts()["adb_lost"]) is lost
