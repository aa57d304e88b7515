"""What the device image's HEALTHCHECK says where no supervisor is."""

from __future__ import annotations

import socket

import pytest

from tests.device.fakes import Listening
from tests.images.scripts import load


class Stranger(Listening):
    """A server that speaks no HTTP."""

    def serve(self, connection: socket.socket) -> None:
        connection.sendall(b"Android Console: Authentication required\r\n")


def test_a_stranger_on_the_supervisors_port_is_one_line_and_exit_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    health = load("health")
    with Stranger() as server:
        monkeypatch.setattr(health, "CONTROL_PORT", server.port)
        assert health.main() == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("no supervisor answers: ")
