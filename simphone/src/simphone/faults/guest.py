"""Faults inside the guest, and of what loads and boots it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import system
from ..snapshots import MISSING, SnapshotError
from ..ui.screen import SYSTEM_UI
from .answers import changed
from .order import ALWAYS, FaultClass, FaultOrder, seconds

if TYPE_CHECKING:
    from ..phone import Phone

# Where what happens to the phone as a whole can happen. What passes goes on as it is.
EVENTS = (
    "shell", "shell.stdout", "adbd.service", "adbd.accept", "screencap", "uiautomator.dump",
    "console.command", "snapshot.prepare", "snapshot.loaded", "boot.completed",
)  # fmt: skip
OTHER_FINGERPRINT = (
    "google/sdk_gphone64_x86_64/emu64xa:14/UE1A.230829.050/12077443:userdebug/dev-keys"
)
DAY = 24 * 3600

Deed = Callable[["Phone", FaultOrder], None]


def event(name: str, does: str, deed: Deed, **more: Any) -> FaultClass:
    """Something that happens to the phone when a point is passed."""

    def make(phone: Phone, order: FaultOrder) -> Callable[[Any], Any]:
        def plant(value: Any) -> Any:
            deed(phone, order)
            return value

        return plant

    return FaultClass(name, EVENTS, does, make, **more)


def _framework_dies(phone: Phone, order: FaultOrder) -> None:
    if system.framework_up(phone.world):  # else it is away already, and will be back
        system.restart_framework(phone.world, order.argument)


def _anr(phone: Phone, order: FaultOrder) -> None:
    phone.world.windows.not_responding = SYSTEM_UI
    phone.world.windows.moved()


def _frozen(phone: Phone, order: FaultOrder) -> None:
    phone.world.clock.freeze()


def _behind(phone: Phone, order: FaultOrder) -> None:
    phone.world.clock.offset_s -= order.argument


def _other_image(phone: Phone, order: FaultOrder) -> None:
    for name, value in phone.world.properties.items():
        if name.endswith("build.fingerprint") and value:
            phone.world.properties.force(name, OTHER_FINGERPRINT)


def _full(phone: Phone, order: FaultOrder) -> None:
    phone.world.disk.full = True


def _slow(phone: Phone, order: FaultOrder) -> Callable[[float], float]:
    return lambda delay_s: delay_s + order.argument


def _missing(tag: str) -> str:
    raise SnapshotError(MISSING)


def _corrupt(tag: str) -> str:
    raise SnapshotError("bad snapshot data")


def _cold(phone: Phone, order: FaultOrder) -> Callable[[str], str]:
    def forget(tag: str) -> str:
        phone.log("INFO", f"Loading snapshot '{tag}'...")
        phone.log("WARNING", "Device 'cache' does not have the requested snapshot")
        phone.log("WARNING", f"Failed to load snapshot '{tag}'")
        return ""

    return forget


def _reboots(phone: Phone, order: FaultOrder) -> Callable[[bool], bool]:
    def reboot(restored: bool) -> bool:
        phone.log("INFO", "performing a cold boot")
        phone.reboot()
        return restored

    return reboot


GUEST = (
    FaultClass(
        "boot-hangs", ("boot.next",), "a boot stops at the home screen: sys.boot_completed is "
        "never set", changed(lambda step: "boot.hangs"),
    ),
    FaultClass(
        "boot-loops", ("boot.next",), "a boot begins anew a second before it would be completed",
        changed(lambda step: "boot.loops"), ALWAYS,
    ),
    event(
        "system-server-restarts", "system_server dies: its services are away for `seconds`, the "
        "boot id and sys.boot_completed stay", _framework_dies, argument=seconds(2, 600),
    ),
    event("anr", "`Not Responding: com.android.systemui` takes the focus", _anr),
    event("clock-frozen", "the date stands still until a load or a boot", _frozen),
    event(
        "clock-behind", "the date is `seconds` behind until a load or a boot", _behind,
        argument=seconds(3600, 3650 * DAY),
    ),
    event("fingerprint-changed", "ro.build.fingerprint is another image's until a load or a boot",
          _other_image),
    event("disk-full", "whatever is written to /data fails with `No space left on device` until a "
          "load or a boot", _full),
    FaultClass(
        "slow", ("shell.delay",), "a shell command begins `seconds` later", _slow, ALWAYS,
        seconds(2, 600),
    ),
    FaultClass(
        "snapshot-missing", ("snapshot.prepare",), "a load says that there is no such snapshot",
        changed(_missing),
    ),
    FaultClass(
        "snapshot-corrupt", ("snapshot.prepare",), "a load says `bad snapshot data`",
        changed(_corrupt),
    ),
    FaultClass(
        "snapshot-cold-boot", ("start.snapshot",), "a start with -snapshot says in its log that "
        "the load failed and boots cold, with -force-snapshot-load too", _cold,
    ),
    FaultClass(
        "snapshot-load-reboots", ("snapshot.load",), "a load says `OK`, and the guest boots cold",
        _reboots,
    ),
    FaultClass(
        "snapshot-load-noop", ("snapshot.load",), "a load says `OK` and restores nothing",
        changed(lambda restored: False), ALWAYS,
    ),
)  # fmt: skip
