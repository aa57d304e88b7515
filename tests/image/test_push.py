"""What the lock says of a push."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orchestrator.image.docker_verify import PushedImage, pushed_lock
from orchestrator.pins.image_lock import Container, read_lock, write_lock
from tests.pins.a_lock import LOCK

ID = f"sha256:{'a' * 64}"
LOCKED = replace(
    LOCK,
    container=Container(ID, "emufarm-device-x:1-abc", "t" * 64, {"clean": "s" * 64}, "a cpu", {}),
)


def test_a_lock_names_the_pair_that_was_pushed_last(tmp_path: Path) -> None:
    """Whatever its names are: the lock's file sorts them, so their order says nothing."""
    path, lock = tmp_path / "lock", LOCKED
    for name, digest in (("r.example/z", "1" * 64), ("r.example/a", "2" * 64)):
        device = PushedImage(f"{name}:1-abc", f"sha256:{digest}")
        worker = PushedImage(f"{name}-worker:0.1-abc", f"sha256:{digest}")
        write_lock(path, pushed_lock(lock, device, worker))
        lock = read_lock(path)
        assert lock.container is not None
        assert lock.container.pushed == {device.name: device.digest}
        assert lock.container.worker_pushed == {worker.name: worker.digest}
