"""A golden AVD, and supervisors of the stand-in emulator that end with their test."""

from __future__ import annotations

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

    def begin(*words: str, emulator: tuple[str, ...] = (), stdin: int | None = None) -> Supervisor:
        started.append(Supervisor(tmp_path, *words, emulator=emulator, stdin=stdin))
        return started[-1]

    yield begin
    for supervisor in started:
        supervisor.process.terminate()  # not kill -9, which would leave the emulator's children
        supervisor.process.wait(60)
        for pipe in (supervisor.process.stdin, supervisor.process.stdout):
            if pipe is not None:
                pipe.close()
