"""The supervisor's client in the device room, against the real supervisor."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from orchestrator.device.faults import DeviceFault
from orchestrator.device.supervisor_client import SupervisorClient
from tests.device.fakes import Listening
from tests.supervisor.conftest import golden, start
from tests.supervisor.supervised import Start

__all__ = ["golden", "start"]


def test_facts_log_and_restart(start: Start, tmp_path: Path) -> None:
    running = start().ready()
    client = SupervisorClient(running.control_port, (tmp_path / "token").read_text())
    running.grandchild()
    before = client.facts()
    assert before.serial == f"emulator-{running.console_port}"
    assert before.console_port == running.console_port
    assert before.emulator_version is not None
    assert "grandchild" in client.log()
    assert client.log(5) == client.log()[-5:]
    after = client.restart()
    assert (after.restarts, after.pid != before.pid) == (1, True)
    assert client.healthy()
    running.process.terminate()
    running.process.wait(60)
    assert not client.healthy()
    with pytest.raises(DeviceFault) as error:
        client.facts()
    assert error.value.reason == "supervisor_gone"


class Trickling(Listening):
    """Answers a byte at a time, for ever."""

    def serve(self, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            connection.sendall(b"x")
            time.sleep(0.01)


def test_a_supervisor_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline is the call's, not each read's."""
    monkeypatch.setattr("orchestrator.device.supervisor_client.RESTART_SECONDS", 0.2)
    with Trickling() as server, pytest.raises(DeviceFault, match="no answer") as error:
        SupervisorClient(server.port, "token").restart()
    assert error.value.reason == "supervisor"


def test_a_wrong_token_is_a_fault(start: Start) -> None:
    running = start().ready()
    with pytest.raises(DeviceFault, match="401"):
        SupervisorClient(running.control_port, "wrong").facts()
