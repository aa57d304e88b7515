"""A cold boot, in a real phone's order.

kernel -> init (properties, daemons, adbd: the device is visible, nothing answers) -> zygote ->
system_server (the services answer) -> home -> sys.boot_completed=1 -> the boot animation ends.
Each step is an effect that makes the next one due, so a snapshot taken half-way boots on.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import system
from .avd import parse_ini
from .first_boot import create_disk, is_fresh
from .processes import ROOT, SHELL, SYSTEM

if TYPE_CHECKING:
    from .state import Json
    from .world import World

PERSISTENT = "/data/property/persistent_properties"
# Seconds from each step to the next.
ZYGOTE_S, FRAMEWORK_S, HOME_S, COMPLETED_S, ANIMATION_S = 0.02, 0.06, 0.04, 0.02, 0.02
# How long a boot that loops stays up before it begins anew.
LOOP_S = 1.0

# What init starts, with the user it runs as and the service it is known by.
_DAEMONS = (
    ("ueventd", ROOT, "ueventd"), ("logd", 1036, "logd"), ("lmkd", 1069, "lmkd"),
    ("servicemanager", SYSTEM, "servicemanager"), ("hwservicemanager", SYSTEM, "hwservicemanager"),
    ("vold", ROOT, "vold"), ("surfaceflinger", SYSTEM, "surfaceflinger"), ("netd", ROOT, "netd"),
    ("installd", ROOT, "installd"), ("keystore2", 1017, "keystore2"),
    ("audioserver", 1041, "audioserver"), ("media.codec", 1046, "media"),
    ("wificond", 1010, "wificond"), ("rild", 1001, "vendor.ril-daemon"), ("adbd", SHELL, "adbd"),
)  # fmt: skip


@dataclass(frozen=True)
class Firmware:
    """What a boot is told from outside the guest."""

    avd_name: str
    seed: int
    boot_count: int
    timezone: str
    locale: str
    emulator: str  # version
    props: tuple[tuple[str, str], ...] = ()
    animation: bool = True


def boot_id(seed: int, noise: int | None, count: int) -> str:
    """Random in shape, the same for the same seed and the same number of boots."""
    digest = hashlib.sha256(f"boot {seed} {noise} {count}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def power_on(world: World, firmware: Firmware) -> None:
    """All up to a running init; the rest follows by itself."""
    forget(world)
    world.clock.reboot()
    world.clock.offset_s = world.noise.clock_drift_s()
    world.boot_id = boot_id(firmware.seed, world.noise.seed, firmware.boot_count)
    if is_fresh(world):
        create_disk(world)
    _load_properties(world, firmware)
    world.processes.spawn("init", ROOT, ppid=0, pid=1)
    world.processes.spawn("kthreadd", ROOT, ppid=0, pid=2)
    world.processes.load({**world.processes.save(), "last": 150})
    for name, uid, service in _DAEMONS:
        world.processes.spawn(name, uid)
        world.properties.force(f"init.svc.{service}", "running")
    if firmware.animation:
        world.processes.spawn("bootanimation", 1003)
        world.properties.force("init.svc.bootanim", "running")
    world.logcat.write("init", "init second stage started!", pid=1)
    world.effects.later(world.noise.stretch(ZYGOTE_S), "boot.zygote")


def forget(world: World) -> None:
    """The guest's memory is gone; what was set to persist is on its disk."""
    world.background.cancel_all()
    world.databases.close()
    world.disk.full = False
    world.packages.forget()
    world.effects.load([])
    world.properties.clear()
    world.processes.clear()
    world.logcat.clear()
    world.notifications.clear()
    world.clipboard.load("")
    world.telephony.load(None)
    world.windows.clear()


def store_persistent(world: World) -> None:
    """Before the guest goes down: what init would have written at each setprop."""
    kept = {k: v for k, v in world.properties.items() if k.startswith("persist.")}
    if not kept:
        return
    try:
        path = world.disk.own(PERSISTENT)
        new = path.with_name(f"{path.name}.tmp")
        new.write_text(json.dumps(kept, indent=1))
        new.replace(path)
    except OSError as error:  # a full disk keeps what was there
        text = f"Unable to write persistent property file: {error.strerror}"
        world.logcat.write("init", text, level="E", pid=1)


def _persistent(world: World) -> dict[str, str]:
    """What the last boot left; root may have left anything there."""
    path = world.disk.own(PERSISTENT)
    if not path.is_file():
        return {}
    try:
        return {str(name): str(value) for name, value in json.loads(path.read_bytes()).items()}
    except (ValueError, AttributeError, RecursionError) as error:
        text = f"Unable to parse persistent property file: {error}"
        world.logcat.write("init", text, level="E", pid=1)
        return {}


def _load_properties(world: World, firmware: Firmware) -> None:
    properties = world.properties
    image = world.disk.system / "build.prop"
    for name, value in parse_ini(image.read_text()).items():
        properties.force(name, value)
    _force(
        world,
        (
            ("ro.hardware", "ranchu"),
            ("ro.boot.hardware", "ranchu"),
            ("ro.kernel.qemu", "1"),
            ("ro.boot.qemu", "1"),
            ("ro.boot.qemu.avd_name", firmware.avd_name),
            ("ro.serialno", "EMULATOR35X6X11X0"),
            ("ro.boot.serialno", "EMULATOR35X6X11X0"),
            ("ro.boot.verifiedbootstate", "orange"),
            ("ro.boottime.init", str(int(0.4e9))),
            ("ro.boottime.adbd", str(int(0.9e9))),
            ("ro.bootmode", "unknown"),
            ("ro.boot.emulator.version", firmware.emulator),
            ("persist.sys.timezone", firmware.timezone),
            ("persist.sys.locale", firmware.locale),
            ("gsm.operator.alpha", "T-Mobile"),
            ("gsm.operator.iso-country", "us"),
            ("gsm.operator.numeric", "310260"),
            ("gsm.sim.operator.alpha", "T-Mobile"),
            ("gsm.sim.state", "LOADED"),
            ("gsm.network.type", "LTE"),
            ("gsm.version.baseband", "1.0.0.0"),
            ("service.adb.root", "0"),
            ("sys.usb.state", "adb"),
            ("sys.usb.config", "adb"),
            ("selinux.restorecon_recursive", "/data"),
            ("vold.has_adoptable", "1"),
        ),
    )
    # The command line's zone and locale outweigh what an earlier boot left.
    chosen = ("persist.sys.timezone", "persist.sys.locale")
    _force(world, ((k, v) for k, v in _persistent(world).items() if k not in chosen))
    _force(world, firmware.props)


def _force(world: World, values: Iterable[tuple[str, str]]) -> None:
    for name, value in values:
        world.properties.force(name, value)


def _zygote(world: World, args: dict[str, Json]) -> None:
    system.start_zygote(world)
    world.effects.later(world.noise.stretch(FRAMEWORK_S), "boot.framework")


def _framework(world: World, args: dict[str, Json]) -> None:
    system.start_framework(world)
    world.effects.later(world.noise.stretch(HOME_S), "boot.home")


def _home(world: World, args: dict[str, Json]) -> None:
    system.show_home(world)
    step = world.faults.at("boot.next", "boot.completed")
    world.effects.later(world.noise.stretch(COMPLETED_S), step)


def _completed(world: World, args: dict[str, Json]) -> None:
    world.properties.force("sys.boot_completed", "1")
    world.properties.force("dev.bootcomplete", "1")
    world.properties.force("ro.runtime.firstboot", str(world.clock.now_ms()))
    world.logcat.write("ActivityManager", "Finished processing BOOT_COMPLETED for u0")
    world.effects.later(world.noise.stretch(ANIMATION_S), "boot.animation_ends")


def _animation_ends(world: World, args: dict[str, Json]) -> None:
    if process := world.processes.find("bootanimation"):
        world.processes.end(process.pid)
    world.properties.force("service.bootanim.exit", "1")
    world.properties.force("init.svc.bootanim", "stopped")


def _hangs(world: World, args: dict[str, Json]) -> None:
    world.logcat.write("ActivityManager", "Slow operation: waiting for BOOT_COMPLETED", level="W")


def _loops(world: World, args: dict[str, Json]) -> None:
    world.effects.later(LOOP_S, "boot.again")


def _again(world: World, args: dict[str, Json]) -> None:
    world.control.reboot()


EFFECTS = {
    "boot.zygote": _zygote,
    "boot.framework": _framework,
    "boot.home": _home,
    "boot.completed": _completed,
    "boot.animation_ends": _animation_ends,
    # Where a planted fault leads instead of to boot.completed.
    "boot.hangs": _hangs,
    "boot.loops": _loops,
    "boot.again": _again,
}
