"""A device on this machine ends with its starter, in whatever way that ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.device.adb import adb_binary
from orchestrator.fleet.local.device import DeviceNotStarted, Golden, LocalDevice
from orchestrator.image.simphone import simphone
from tests.supervisor.supervised import alive, until

SIMULATOR = (sys.executable, "-m", "simphone", "-no-window", "-skip-adb-auth")
HOLDER = """
import json, os, signal, sys
from pathlib import Path
from orchestrator.device.adb import adb_binary
from orchestrator.device.supervisor_client import SupervisorClient
from orchestrator.fleet.local.device import Golden, LocalDevice
folder = Path(sys.argv[1])
emulator = [sys.executable, "-m", "simphone", "-no-window", "-skip-adb-auth"]
golden = Golden(folder / "golden", "phone")
with LocalDevice(folder / "device", golden, emulator, adb=adb_binary()) as running:
    facts = SupervisorClient(running.control_port, running.control_token).facts()
    print(json.dumps({"emulator": facts.pid, "adb_port": running.adb_port}), flush=True)
    signal.pause()
"""


@pytest.fixture
def golden(tmp_path: Path) -> Golden:
    simphone().create_avd(tmp_path / "golden", "phone")
    return Golden(tmp_path / "golden", "phone")


def below(pid: int) -> list[int]:
    """The processes that a process started, and theirs."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [found for child in listed for found in (int(child), *below(int(child)))]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_process_that_started_it(
    golden: Golden, tmp_path: Path, how: signal.Signals
) -> None:
    """No supervisor, no emulator, no adb server; though nobody was left to stop them."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        told = json.loads(holder.stdout.readline())
        pids = below(holder.pid)
        assert told["emulator"] in pids
        assert len(pids) >= 3
        os.kill(holder.pid, how)
        until(lambda: not any(alive(pid) for pid in pids), "everything ends")


def test_a_device_gives_back_what_it_took(golden: Golden, tmp_path: Path) -> None:
    """Files, ports and processes; and a second stop does nothing."""
    before = len(os.listdir("/proc/self/fd"))
    running = LocalDevice(tmp_path / "device", golden, SIMULATOR, adb=adb_binary())
    assert running.console_port == 0
    for _ in range(2):
        with running:
            assert running.pid is not None
            pids = [running.pid, *below(running.pid)]
            assert running.ended() is None
            assert running.console_port
        running.stop()
        assert running.ended() == 0
        assert not any(alive(pid) for pid in pids)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_device_that_does_not_start_says_why_and_leaves_nothing(
    golden: Golden, tmp_path: Path
) -> None:
    before = len(os.listdir("/proc/self/fd"))
    broken = LocalDevice(tmp_path / "device", golden, ["/no/such/emulator"], adb=adb_binary())
    with pytest.raises(DeviceNotStarted, match="/no/such/emulator"), broken:
        pass
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_failed_forced_load_costs_a_copy_and_never_the_golden(
    golden: Golden, tmp_path: Path
) -> None:
    """The emulator deletes the snapshot that it could not load."""
    snapshot = golden.home / "phone.avd" / "snapshots" / "bad"
    snapshot.mkdir(parents=True)
    (snapshot / "snapshot.pb").write_bytes(b"no snapshot")
    asked = Golden(golden.home, golden.avd, "bad")
    running = LocalDevice(tmp_path / "device", asked, SIMULATOR, adb=adb_binary())
    try:
        with running:
            assert running.wait() != 0
    except DeviceNotStarted:
        pass  # it was quicker than its supervisor's first line
    assert running.ended() not in (None, 0)
    assert (snapshot / "snapshot.pb").exists()
    assert not (tmp_path / "device" / "avd" / "phone.avd" / "snapshots" / "bad").exists()
