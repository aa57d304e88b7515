"""The device image's entry point: checks the machine, then runs the supervisor.

    start.py [--linger S] [-- ARGUMENT ...]    from the baked snapshot, where there is one
    start.py --bake                            boot cold, and keep the saved AVD

A machine that cannot run the phone gives exit 1 at once, with the emulator's own message, which the
farm can classify. At a bake, a clean end replaces the golden AVD by the private one with a rename,
so neither may be on a volume. Standard library only.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

KVM = Path("/dev/kvm")
SDK = Path(os.environ.get("ANDROID_SDK_ROOT", "/opt/android-sdk"))
OWN = Path(__file__).resolve().parent
GOLDEN = OWN / "avd"
PLACE = Path("/var/emu")
TOKEN = Path("/run/emufarm/control.token")
ADB_PORT, CONSOLE_PORT, CONTROL_PORT = 5037, 5554, 5600
LOCKS = ("multiinstance.lock", "hardware-qemu.ini.lock", "snapshot.lock")


class CannotRun(Exception):
    """This machine cannot run the phone; the message is the emulator's own where it has one."""


def preflight(device: dict[str, Any], kvm: Path = KVM, place: Path = PLACE) -> None:
    if device["kvm"]:
        _require_kvm(kvm)
    if not os.access(place, os.W_OK | os.X_OK):
        raise CannotRun(f"uid {os.getuid()} cannot write {place}: give it a tmpfs or a volume")
    free = shutil.disk_usage(place).free >> 20
    if free < device["disk_mb"]:
        raise CannotRun(
            f"Not enough disk space to run AVD '{device['avd']}'. Exiting... "
            f"({free} MB are free in {place}, {device['disk_mb']} are needed)"
        )


def _require_kvm(kvm: Path) -> None:
    """Open the device: only that shows whether it may be used."""
    try:
        os.close(os.open(kvm, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            raise CannotRun(
                f"ProbeKVM: This user doesn't have permissions to use KVM ({kvm}); "
                f"give uid {os.getuid()} the device's group"
            ) from error
        raise CannotRun(
            f"{kvm} is not found: VT disabled in BIOS or KVM kernel module not loaded "
            f"({error.strerror}); the profile needs it: pass the device to the container"
        ) from error


def command(device: dict[str, Any], given: argparse.Namespace, extra: list[str]) -> list[str]:
    """The supervisor's arguments."""
    options = {
        "--golden": GOLDEN,
        "--avd-home": PLACE / "avd",
        "--avd": device["avd"],
        "--home": PLACE / "home",
        "--adb": SDK / "platform-tools" / "adb",
        "--adb-port": ADB_PORT,
        "--console-port": CONSOLE_PORT,
        "--control-port": CONTROL_PORT,
        "--token-file": TOKEN,
        "--log": PLACE / "emulator.log",
        "--linger": given.linger,
    }
    words = [str(word) for pair in options.items() for word in pair]
    if given.bake:
        extra = ["-no-snapshot-save", *extra]  # else the emulator saves a snapshot of its own
    elif (GOLDEN / f"{device['avd']}.avd" / "snapshots" / device["snapshot"]).is_dir():
        words += ["--snapshot", device["snapshot"]]
    return [*words, "--", str(SDK / "emulator" / "emulator"), *device["emulator"], *extra]


def keep(device: dict[str, Any]) -> None:
    """Replace the golden AVD by the private one."""
    name = f"{device['avd']}.avd"
    new, old = PLACE / "avd" / name, GOLDEN / name
    if not (new / "snapshots" / device["snapshot"]).is_dir():
        raise CannotRun(f"the emulator ended before the snapshot {device['snapshot']} was saved")
    for lock in (new / name for name in LOCKS):
        if lock.is_dir():
            shutil.rmtree(lock)
        else:
            lock.unlink(missing_ok=True)
    shutil.rmtree(old)
    try:
        new.rename(old)
    except OSError as error:
        # A copy would fill the holes of sparse files, and a commit holds no volumes.
        raise CannotRun(f"{new} cannot be renamed to {old}: {error.strerror}") from error
    for left in PLACE.iterdir():  # logs, keys and tokens of this start
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink()


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="start.py", description=__doc__.splitlines()[0])
    parser.add_argument("--bake", action="store_true", help="keep the saved AVD as the golden one")
    parser.add_argument("--linger", type=float, default=0.0, help="as the supervisor's")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given, extra = parse(arguments[:end]), arguments[end + 1 :]
    device = json.loads((OWN / "device.json").read_text("utf-8"))
    try:
        preflight(device)
        words = command(device, given, extra)
        # In this process: a container's first process gets SIGTERM only if it has a handler.
        sys.argv = ["supervisor", *words]
        code = int(importlib.import_module("supervisor.__main__").main())
        if given.bake and code == 0:
            keep(device)
            print(json.dumps({"baked": str(GOLDEN)}), flush=True)
    except CannotRun as error:
        print(f"start: {error}", file=sys.stderr, flush=True)
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
