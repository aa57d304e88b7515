"""Phones for tests of the transport: the simulated one, and Debian's own adbd in a container."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.device.adb import adb_binary
from orchestrator.device.adb_socket import AdbSocket
from orchestrator.device.faults import DeviceFault
from orchestrator.device.phone import Device
from orchestrator.farm.simulated_phone import boot, simulated_phone
from orchestrator.fleet.local import ports
from tests.e2e.engine import ADBD, Engine

SCRATCH = "/data/local/tmp"
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Link:
    """A phone that answers, and how to take it away or to silence it."""

    device: Device
    vanish: Callable[[], object]
    freeze: Callable[[], object]


@contextmanager
def simulated() -> Iterator[Link]:
    with simulated_phone() as running:
        device, _ = boot(running)
        assert device.supervisor is not None
        pid = device.supervisor.facts().pid
        assert pid is not None

        def tell(number: int) -> Callable[[], object]:
            return lambda: os.kill(pid, number)

        try:
            # Without its supervisor, which would say what became of it: adb alone is asked here.
            alone = Device(device.serial, running.adb_port, console=device.console)
            yield Link(alone, tell(signal.SIGKILL), tell(signal.SIGSTOP))
        finally:
            with suppress(ProcessLookupError):  # one that was taken away is gone
                os.kill(pid, signal.SIGCONT)


@contextmanager
def debians(engine: Engine, folder: Path) -> Iterator[Link]:
    """It knows no keys and lets everybody in: its port is on this machine's loopback alone."""
    image = engine.base(ADBD)
    start = f"mkdir -p {SCRATCH} && exec /usr/sbin/adbd"
    published = ("--publish", "127.0.0.1::5555", "--memory", "512m", "--pids-limit", "256")
    (name,) = engine.listed("run", "--detach", *published, image, "sh", "-c", start)
    try:
        (door,) = engine.listed("port", name, "5555/tcp")
        with adb_server(folder) as port:
            device = Device(door, port)
            until_connected(device.adb_socket)

            def tell(word: str) -> Callable[[], object]:
                return lambda: engine.docker(word, name)

            yield Link(device, tell("kill"), tell("pause"))
    finally:
        engine.docker("rm", "--force", "--volumes", name)


@contextmanager
def adb_server(folder: Path) -> Iterator[int]:
    """One of the test's own, on a port that nobody else has."""
    claim = ports.claim()
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "ADB_LIBUSB": "0", "ADB_MDNS": "0"}
    command = [str(adb_binary()), "-P", str(claim.server_port), "nodaemon", "server"]
    with (folder / "adb.log").open("wb") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    try:
        until(lambda: answers(claim.server_port), "an adb server")
        yield claim.server_port
    finally:
        server.terminate()
        server.wait(PATIENCE_S)
        claim.release()


def until_connected(adb_socket: AdbSocket) -> None:
    """`adb connect`, which may come before adbd listens."""

    def connected() -> bool:
        adb_socket.host(f"host:connect:{adb_socket.serial}", timeout=PATIENCE_S)
        try:
            return adb_socket.state() == "device"
        except DeviceFault:
            return False

    until(connected, f"a connection to {adb_socket.serial}")


def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.01)


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
