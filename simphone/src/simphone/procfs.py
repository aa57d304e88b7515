"""What the kernel tells through /proc, made when it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .world import World

RELEASE = "6.1.23-android14-4-00257-g7e35917775b8-ab9964412"
VERSION = "#1 SMP PREEMPT Mon Apr 17 20:50:58 UTC 2023"
KERNEL = (
    f"Linux version {RELEASE} (build-user@build-host) "
    f"(Android clang version 17.0.2, LLD 17.0.2) {VERSION}"
)


def install(world: World, hardware: Mapping[str, str]) -> None:
    cores = int(hardware["hw.cpu.ncore"])
    total_kb = int(hardware["hw.ramSize"].removesuffix("M")) * 1024
    texts: dict[str, Callable[[], str]] = {
        "/proc/uptime": lambda: _uptime(world, cores),
        "/proc/version": lambda: KERNEL + "\n",
        "/proc/loadavg": lambda: (
            f"0.08 0.03 0.01 1/{len(world.processes.all())} {_last_pid(world)}\n"
        ),
        "/proc/stat": lambda: _stat(world, cores),
        "/proc/meminfo": lambda: _meminfo(total_kb, len(world.processes.all())),
        "/proc/cpuinfo": lambda: "\n".join(map(_cpu, range(cores))),
        "/proc/cmdline": lambda: "androidboot.hardware=ranchu qemu=1 no_timer_check\n",
        "/proc/filesystems": lambda: "nodev\tsysfs\nnodev\ttmpfs\n\text4\n\tf2fs\nnodev\tfuse\n",
        "/proc/mounts": lambda: _MOUNTS,
        "/proc/sys/kernel/random/boot_id": lambda: world.boot_id + "\n",
        "/proc/sys/kernel/osrelease": lambda: RELEASE + "\n",
        "/proc/sys/kernel/hostname": lambda: "localhost\n",
    }
    for path, text in texts.items():
        world.disk.virtual[path] = lambda text=text: text().encode()  # type: ignore[misc]


_MOUNTS = """\
/dev/block/dm-0 / ext4 ro,seclabel,relatime 0 0
tmpfs /dev tmpfs rw,seclabel,nosuid,relatime,mode=755 0 0
proc /proc proc rw,relatime,gid=3009,hidepid=invisible 0 0
/dev/block/dm-5 /data ext4 rw,seclabel,nosuid,nodev,noatime 0 0
/dev/fuse /storage/emulated fuse rw,lazytime,nosuid,nodev,noexec,noatime,allow_other 0 0
"""


def _uptime(world: World, cores: int) -> str:
    up = world.clock.uptime()
    return f"{up:.2f} {up * cores * 0.97:.2f}\n"


def _last_pid(world: World) -> int:
    return max((process.pid for process in world.processes.all()), default=1)


def _stat(world: World, cores: int) -> str:
    ticks = int(world.clock.uptime() * 100)
    busy, idle = ticks // 30, ticks - ticks // 30
    line = f"{busy} 0 {busy // 2} {idle} 0 0 0 0 0 0\n"
    booted = int(world.clock.now() - world.clock.uptime())
    one = "".join(f"cpu{n} {line}" for n in range(cores))
    return f"cpu  {line}{one}btime {booted}\nprocesses {_last_pid(world)}\n"


def memory(world: World) -> dict[str, int]:
    """KiB by name, as /proc/meminfo tells them to every program that counts memory."""
    rows = (line.split() for line in world.disk.virtual["/proc/meminfo"]().decode().splitlines())
    return {row[0].rstrip(":"): int(row[1]) for row in rows}


def cores(world: World) -> int:
    lines = world.disk.virtual["/proc/cpuinfo"]().splitlines()
    return sum(line.startswith(b"processor") for line in lines)


def _meminfo(total_kb: int, processes: int) -> str:
    used = min(total_kb // 2, 400_000 + processes * 20_000)
    rows = {
        "MemTotal": total_kb, "MemFree": (total_kb - used) // 3, "MemAvailable": total_kb - used,
        "Buffers": 12_000, "Cached": total_kb // 4, "SwapTotal": 0, "SwapFree": 0,
    }  # fmt: skip
    return "".join(f"{name + ':':<16}{value:>8} kB\n" for name, value in rows.items())


def _cpu(number: int) -> str:
    return (
        f"processor\t: {number}\nvendor_id\t: AuthenticAMD\ncpu family\t: 6\nmodel\t\t: 6\n"
        "model name\t: Android virtual processor\ncpu MHz\t\t: 2000.000\n"
        "flags\t\t: fpu sse sse2 ssse3 sse4_1 sse4_2 popcnt hypervisor\n"
    )
