"""The identity of a phone, which a run must record to be repeatable, and its capabilities."""

from __future__ import annotations

from dataclasses import dataclass

from .adb import adb_version
from .console import Console
from .faults import DeviceFault
from .screen import Display, display
from .settings import AndroidSettings, Properties
from .shell import Shell

# What oracles may need of a phone.
SHELL = "adb_shell"
ROOT = "root"
CLIPBOARD = "clipboard_receipt"
LISTENER = "notification_listener_receipt"
PROXY = "network_proxy"
# Each needs a part that we install on no phone: a reporting app, or a proxy in between.
UNAVAILABLE = frozenset({CLIPBOARD, LISTENER, PROXY})


@dataclass(frozen=True)
class Identity:
    serial: str
    fingerprint: str
    api_level: int
    abi: str
    adb_version: str
    adb_server_version: int
    avd_name: str | None  # None without a console
    emulator_version: str | None  # from the supervisor; None without one
    display: Display
    input_method: str | None
    time_zone: str
    locale: str


def identify(shell: Shell, console: Console | None, emulator_version: str | None) -> Identity:
    properties, settings = Properties(shell), AndroidSettings(shell)
    level = properties.get("ro.build.version.sdk")
    if not level.isdecimal():
        raise DeviceFault("bad_answer", f"not an API level: {level!r}", during="identity")
    fingerprint = properties.get("ro.build.fingerprint")
    if fingerprint.count("/") < 3:
        raise DeviceFault("bad_answer", f"not a fingerprint: {fingerprint!r}", during="identity")
    return Identity(
        serial=shell.adb_socket.serial,
        fingerprint=fingerprint,
        api_level=int(level),
        abi=properties.get("ro.product.cpu.abi"),
        adb_version=adb_version(),
        adb_server_version=shell.adb_socket.server_version(),
        avd_name=console.avd_name() if console is not None else None,
        emulator_version=emulator_version,
        display=display(shell),
        input_method=settings.get("secure", "default_input_method"),
        time_zone=properties.get("persist.sys.timezone"),
        locale=properties.get("persist.sys.locale") or properties.get("ro.product.locale"),
    )


def capabilities(shell: Shell) -> frozenset[str]:
    """Play Store images have no `su`, so queries that need root cannot be answered there."""
    root = shell.query("id", "-u", root=True).text.strip() == "0"
    return frozenset({SHELL, ROOT} if root else {SHELL})
