"""Ports of local phones are claimed exclusively."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.fleet.local import ports

FIRST = ports.FIRST


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claims of other tests and farms on this machine do not count here, used ports still do.

    Nor are they seen there, so the numbers are others than those that real phones take.
    """
    first = random.randrange(6000, 9000, 2)
    monkeypatch.setattr(ports, "FIRST", first)
    monkeypatch.setattr(ports, "LAST", first + 96)
    monkeypatch.setattr(ports, "FOLDER", tmp_path / "ports")
    return tmp_path / "ports"


def test_claims_are_pairs_above_what_a_users_adb_server_probes() -> None:
    assert FIRST > 5585
    with ExitStack() as held:
        claims = [ports.claim() for _ in range(5)]
        for claim in claims:
            held.callback(claim.release)
        numbers = [claim.port for claim in claims]
        assert len(set(numbers)) == 5
        assert all(number % 2 == 0 and number >= ports.FIRST for number in numbers)
        servers = [claim.server_port for claim in claims]
        assert not set(servers) & {5037, *numbers, *(number + 1 for number in numbers)}
        with pytest.raises(UsageError, match="in use"):
            ports.claim(numbers[0])
    again = ports.claim(numbers[0])
    again.release()


def test_a_claim_released_twice_closes_nobody_elses_file() -> None:
    claim = ports.claim()
    number = claim.lock.fileno()
    claim.release()
    reader, writer = os.pipe()
    try:
        assert number in (reader, writer)
        claim.release()
        os.fstat(number)
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("which", [0, 1, 10_000])
def test_a_port_that_somebody_uses_is_not_claimed(which: int) -> None:
    claim = ports.claim()
    claim.release()
    with socket.create_server(("127.0.0.1", claim.port + which)):
        with pytest.raises(UsageError, match=f"{claim.port} or|{claim.port}, .* is in use"):
            ports.claim(claim.port)
        other = ports.claim()
        other.release()
        assert other.port != claim.port


@pytest.mark.parametrize("port", [5587, 80, 65535, 70000, -2])
def test_a_port_that_no_phone_can_have_is_refused(port: int) -> None:
    with pytest.raises(UsageError, match="choose an even number"):
        ports.claim(port)


def test_a_folder_that_cannot_be_used_is_one_sentence(own_folder: Path) -> None:
    own_folder.write_text("not a folder")
    with pytest.raises(UsageError, match="cannot hold ports"):
        ports.claim()


def test_a_link_that_somebody_left_there_is_not_followed(own_folder: Path) -> None:
    elsewhere = own_folder.with_name("elsewhere")
    elsewhere.mkdir()
    own_folder.symlink_to(elsewhere)
    with pytest.raises(UsageError, match="somebody else"):
        ports.claim()
    assert not list(elsewhere.iterdir())


def test_every_farm_of_a_user_looks_in_the_same_place(tmp_path: Path) -> None:
    script = "from orchestrator.fleet.local import ports; print(ports.FOLDER)"
    seen = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        folder = str(tmp_path / name)
        env = os.environ | {"TMPDIR": folder, "XDG_RUNTIME_DIR": folder}
        told = subprocess.run(
            [sys.executable, "-c", script], check=True, env=env, capture_output=True, text=True
        )
        seen.add(told.stdout)
    assert seen == {f"/tmp/emufarm-ports-{os.getuid()}\n"}
