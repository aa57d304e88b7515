"""A golden AVD, and supervisors over the stand-in emulator that end with their test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.supervisor.supervised import Start, Supervisor


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """A golden AVD that runs until it is told to end."""
    avd = tmp_path / "golden" / "phone.avd"
    avd.mkdir(parents=True)
    (tmp_path / "golden" / "phone.ini").write_text(
        "avd.ini.encoding=UTF-8\npath=/elsewhere/phone.avd\npath.rel=avd/phone.avd\n"
        "target=android-34\n"
    )
    (avd / "config.ini").write_text("hw.ramSize=2048\n")
    (avd / "behaviour").write_text("run")
    return avd


@pytest.fixture
def start(tmp_path: Path, golden: Path) -> Iterator[Start]:
    started: list[Supervisor] = []

    def begin(*words: str, emulator: tuple[str, ...] = ()) -> Supervisor:
        started.append(Supervisor(tmp_path, *words, emulator=emulator))
        return started[-1]

    yield begin
    for supervisor in started:
        if supervisor.process.poll() is None:
            os.kill(supervisor.process.pid, 9)
        supervisor.process.wait()
        if supervisor.process.stdout is not None:
            supervisor.process.stdout.close()
