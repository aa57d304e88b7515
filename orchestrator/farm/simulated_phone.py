"""Starts a simulated phone for one command: a golden AVD, a supervisor, a booted device."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from ..device.adb import adb_binary
from ..fleet.local.boot import boot as boot
from ..fleet.local.device import Golden, LocalDevice
from ..fleet.local.environment import device_env
from ..image.simphone import simphone

AVD = "emufarm"
# Options of any emulator without a window; the supervisor adds the AVD and its ports.
HEADLESS = (
    "-no-window", "-no-audio", "-no-boot-anim", "-no-metrics", "-skip-adb-auth", "-show-kernel",
)  # fmt: skip


def simulator(*, noise: int | None = None, seed: int | None = None, fault: str = "") -> list[str]:
    """The simulated phone's command, up to what the supervisor adds."""
    words = [simphone().program, *HEADLESS]
    for flag, value in (("-sim-noise", noise), ("-sim-seed", seed), ("-sim-fault", fault or None)):
        if value is not None:
            words += [flag, str(value)]
    return words


@contextmanager
def simulated_phone(
    *,
    noise: int | None = None,
    seed: int | None = None,
    fault: str = "",
    port: int | None = None,
    adb_port: int | None = None,
) -> Iterator[LocalDevice]:
    """A phone that ends, with everything it wrote, when the block does."""
    with tempfile.TemporaryDirectory(prefix="emufarm-") as name:
        folder = Path(name)
        simphone().create_avd(folder / "golden", AVD)
        command = simulator(noise=noise, seed=seed, fault=fault)
        golden = Golden(folder / "golden", AVD)
        with LocalDevice(
            folder / "device",
            golden,
            command,
            adb=adb_binary(),
            port=port,
            adb_port=adb_port,
            env=device_env(),
        ) as running:
            yield running


def write_adb(running: LocalDevice) -> Path:
    """Writes an `adb` for a person to use with this phone, and returns its path.

    `adb emu` finds the console's token only in HOME, so this one sets HOME, for adb only. It starts
    our adb, since a client of another version would kill the phone's server.
    """
    program = running.folder / "bin" / "adb"
    program.parent.mkdir(exist_ok=True)
    command = f'HOME={quote(str(running.home))} exec {quote(str(adb_binary()))} "$@"'
    program.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    program.chmod(0o755)
    return program
