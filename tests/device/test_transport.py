"""What every adbd must give us, the simulated phone's and Debian's own alike: whole answers with an
exit code, equal bytes both ways, and a fault where the phone goes; never a wrong answer."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

import pytest

from orchestrator.device.check import run_check
from orchestrator.device.expectations.transport import TRANSPORT
from orchestrator.device.faults import DeviceFault
from tests.device.links import SCRATCH, Link, debians, simulated, until
from tests.e2e.engine import ADBD

T = TypeVar("T")

MEGABYTE = 1 << 20
STREAMS = 10
# What Android's own shell says of a program that is not there; Debian's is another shell.
OF_ANDROIDS_SHELL = "shell.unknown-command"
SIMULATED, DEBIANS = "simulated", "debians-adbd"
KINDS = [SIMULATED, pytest.param(DEBIANS, marks=pytest.mark.docker(ADBD))]
LARGE = f"{SCRATCH}/large"


def a_link(
    request: pytest.FixtureRequest, folders: pytest.TempPathFactory
) -> AbstractContextManager[Link]:
    if request.param == SIMULATED:
        return simulated()
    return debians(request.getfixturevalue("docker_engine"), folders.mktemp("adb"))


@pytest.fixture(scope="module", params=KINDS)
def link(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Link]:
    with a_link(request, tmp_path_factory) as one:
        yield one


@pytest.fixture(params=KINDS)
def doomed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Link]:
    """For one test, which takes it away."""
    with a_link(request, tmp_path_factory) as one:
        yield one


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_the_device_contract_of_the_transport_is_kept(
    link: Link, request: pytest.FixtureRequest
) -> None:
    android = request.node.callspec.params["link"] == SIMULATED
    asked = [one for one in TRANSPORT if android or one.name != OF_ANDROIDS_SHELL]
    findings = run_check(link.device, expectations=asked)
    assert [f"{one.name}: {one.seen}" for one in findings if not one.holds] == []
    assert len(findings) == len(asked)


def test_every_exit_code_arrives(link: Link) -> None:
    codes = [0, 1, 2, 126, 127, 128, 137, 254, 255]
    assert [link.device.adb_socket.shell(f"exit {code}").exit_code for code in codes] == codes


def test_five_megabytes_of_binary_stdout_arrive_unchanged(link: Link) -> None:
    data = os.urandom(5 * MEGABYTE)
    link.device.files.push(data, f"{SCRATCH}/random")
    assert link.device.adb_socket.shell(f"cat {SCRATCH}/random").stdout == data
    assert link.device.adb_socket.exec_out(f"cat {SCRATCH}/random") == data


def test_sixty_four_megabytes_come_back_as_they_went(link: Link, tmp_path: Path) -> None:
    there, back = tmp_path / "there", tmp_path / "back"
    there.write_bytes(os.urandom(64 * MEGABYTE))
    assert link.device.files.push(there, LARGE) == 64 * MEGABYTE
    assert link.device.files.pull(LARGE, back) == 64 * MEGABYTE
    digest = hashlib.sha256(there.read_bytes()).hexdigest()
    assert hashlib.sha256(back.read_bytes()).hexdigest() == digest
    assert link.device.files.sha256(LARGE) == digest


def test_ten_streams_at_once_each_get_their_own_answer(link: Link) -> None:
    """All of them are open before any is answered."""
    together = threading.Barrier(STREAMS, timeout=60)

    def stream(number: int) -> bool:
        data, path = os.urandom(MEGABYTE), f"{SCRATCH}/stream-{number}"
        together.wait()
        if number % 2:
            answer = link.device.adb_socket.shell(f"cat; exit {number}", stdin=data)
            return answer.stdout == data and answer.exit_code == number
        link.device.files.push(data, path)
        return link.device.files.read(path) == data

    with ThreadPoolExecutor(STREAMS) as pool:
        assert list(pool.map(stream, range(STREAMS))) == [True] * STREAMS


def test_a_phone_that_vanishes_in_a_command_is_a_fault(
    doomed: Link, thread: ThreadPoolExecutor
) -> None:
    device = doomed.device
    script = f"echo half; touch {SCRATCH}/begun; sleep 60; echo whole"
    asked = thread.submit(device.adb_socket.shell, script, timeout=30)
    until(lambda: device.files.exists(f"{SCRATCH}/begun"), "the command's first half")
    doomed.vanish()
    assert fault(asked).transient
    assert is_gone(doomed)


def test_a_phone_that_vanishes_in_a_push_is_a_fault(
    doomed: Link, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """What is pushed comes from a pipe, so the phone goes when half of it is there."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    asked = thread.submit(doomed.device.files.push, pipe, LARGE, timeout=30)
    with pipe.open("wb") as half:
        half.write(bytes(MEGABYTE))
        doomed.vanish()
        until(lambda: is_gone(doomed), "the end of the phone")
    assert fault(asked).transient


def test_a_phone_that_vanishes_in_a_pull_leaves_no_half_file(
    doomed: Link, thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    data = os.urandom(64 * MEGABYTE)
    doomed.device.files.push(data, LARGE)
    asked = thread.submit(doomed.device.files.pull, LARGE, tmp_path / "back", timeout=30)
    until(lambda: asked.done() or any(tmp_path.iterdir()), "the first bytes")
    doomed.vanish()
    if asked.exception() is None:  # it was quicker than the end
        assert (tmp_path / "back").read_bytes() == data
    else:
        assert fault(asked).transient
        assert list(tmp_path.iterdir()) == []


def test_a_phone_that_falls_silent_is_a_timeout(doomed: Link) -> None:
    doomed.freeze()
    with pytest.raises(DeviceFault) as error:
        doomed.device.adb_socket.shell("echo there", timeout=1)
    assert error.value.reason == "timeout"


def fault(asked: Future[T]) -> DeviceFault:
    error = asked.exception(60)
    assert isinstance(error, DeviceFault), error
    return error


def is_gone(link: Link) -> bool:
    try:
        return not link.device.adb_socket.shell("true", timeout=5).ok
    except DeviceFault:
        return True
