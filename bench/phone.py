"""Measures what a simulated phone costs, and what the device room's plain socket saves.

    .venv/bin/python bench/phone.py [--rounds 300]

Compare lines of one run with each other, not runs with each other: machines are noisy.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import adbutils

from orchestrator.device.adb import adb_binary
from orchestrator.device.phone import Device
from orchestrator.farm.simulated_phone import boot, simulated_phone, simulator
from orchestrator.fleet.local import ports
from orchestrator.fleet.local.device import LocalDevice
from orchestrator.image.simphone import simphone

IDLE_S = 10.0


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def line(name: str, samples: list[float], unit: str = "ms") -> None:
    ordered = sorted(samples)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    print(f"{name:<44}{statistics.median(ordered):>9.2f}{p95:>9.2f} {unit}  n={len(ordered)}")


def boots(rounds: int) -> None:
    alone, whole = [], []
    for _ in range(rounds):
        alone.append(timed_boot())
        started = time.perf_counter()
        with simulated_phone() as running:
            boot(running)
            whole.append((time.perf_counter() - started) * 1000)
    line("boot: exec to boot_completed, a new disk", alone)
    line("boot: nothing running to a proven phone", whole)


def timed_boot() -> float:
    """From the emulator's start to the line in which it says that it has booted."""
    claim = ports.claim()
    with tempfile.TemporaryDirectory() as home:
        simphone().create_avd(Path(home), "bench")
        command = [*simulator(), "-avd", "bench", "-port", str(claim.port)]
        env = {**os.environ, "ANDROID_AVD_HOME": home, "HOME": home}
        env["ANDROID_ADB_SERVER_PORT"] = str(claim.server_port)
        started = time.perf_counter()
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for words in process.stdout:
                if b"Boot completed" in words:
                    break
            taken = time.perf_counter() - started
            process.terminate()
    claim.release()
    return taken * 1000


def round_trips(running: LocalDevice, device: Device, rounds: int) -> None:
    """The same question three ways, in turn, so that all see the same machine."""
    theirs = adbutils.AdbClient("127.0.0.1", running.adb_port).device(running.serial)
    adb = [str(adb_binary()), "-P", str(running.adb_port), "-s", running.serial]
    ways: dict[str, Callable[[], object]] = {
        "shell round trip: device room": lambda: device.shell.adb_socket.shell("true", timeout=10),
        "shell round trip: adbutils shell2": lambda: theirs.shell2("true", v2=True),
        "shell round trip: adb binary": lambda: subprocess.run(
            [*adb, "shell", "true"], check=True, timeout=10
        ),
        "pull of a small file: adb binary": lambda: subprocess.run(
            [*adb, "pull", "/system/build.prop", f"{running.home}/pulled"],
            check=True,
            timeout=10,
            capture_output=True,
        ),
    }
    samples: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, ask in ways.items():
            samples[name].append(timed(ask))
    for name, taken in samples.items():
        line(name, taken)


def pictures(device: Device, rounds: int) -> None:
    """Each picture of another screen, so that none comes from the phone's memory of the last."""
    shots, dumps = [], []
    for number in range(rounds):
        device.packages.open("com.android.settings" if number % 2 else "com.android.dialer")
        shots.append(timed(device.screen.capture))
        dumps.append(timed(device.screen.tree))
    line("screencap", shots)
    line("uiautomator dump", dumps)


def snapshots(device: Device, rounds: int) -> None:
    line("snapshot save", [timed(lambda: device.snapshots.save("bench")) for _ in range(rounds)])
    console = [timed(lambda: device.console.load_snapshot("bench")) for _ in range(rounds)]
    line("snapshot load: the console's OK", console)
    device.wait_ready(30)
    proven = [timed(lambda: device.snapshots.load("bench")) for _ in range(rounds)]
    line("snapshot load: proven", proven)


def idle(pid: int) -> None:
    def cpu_s() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before, started = cpu_s(), time.monotonic()
    time.sleep(IDLE_S)  # the thing measured is that nothing happens
    share = (cpu_s() - before) / (time.monotonic() - started) * 100
    status = Path(f"/proc/{pid}/status").read_text()
    resident = int(status.split("VmRSS:")[1].split()[0]) / 1024
    print(f"{'idle phone: CPU':<44}{share:>9.2f}          % of a core over {IDLE_S:.0f} s")
    print(f"{'idle phone: resident memory':<44}{resident:>9.1f}          MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    rounds = parser.parse_args().rounds
    print(f"{'':<44}{'median':>9}{'p95':>9}")
    boots(max(3, rounds // 60))
    with simulated_phone() as running:
        device, _ = boot(running)
        assert device.supervisor is not None
        pid = device.supervisor.facts().pid
        assert pid is not None
        idle(pid)
        round_trips(running, device, rounds)
        pictures(device, max(10, rounds // 10))
        snapshots(device, max(10, rounds // 10))
        print("after all that:")
        idle(pid)


if __name__ == "__main__":
    main()
