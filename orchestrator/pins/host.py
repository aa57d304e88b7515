"""Facts about this machine: system, kernel, processor, memory, KVM, Python and pip.

A fact that cannot be found is `{"value": null, "why": ...}`, never a guess.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

Unknown = dict[str, str | None]
FACTS = (
    "os", "kernel", "machine", "cpu", "memory_kb", "kvm", "python", "python_build", "pip",
)  # fmt: skip


def unknown(why: str) -> Unknown:
    """The one shape of a fact that could not be found."""
    return {"value": None, "why": why}


def host_facts() -> dict[str, Any]:
    return {
        "os": value_or_reason(lambda: platform.freedesktop_os_release()["PRETTY_NAME"]),
        "kernel": f"{platform.system()} {platform.release()} {platform.version()}",
        "machine": platform.machine(),
        "cpu": {
            "model": value_or_reason(lambda: _field("/proc/cpuinfo", "model name")),
            "cores": os.cpu_count() or unknown("the system does not report it"),
        },
        "memory_kb": value_or_reason(lambda: int(_field("/proc/meminfo", "MemTotal").split()[0])),
        "kvm": kvm(Path("/dev/kvm")),
        "python": platform.python_version(),
        "python_build": " ".join((platform.python_implementation(), *platform.python_build())),
        "pip": pip_version(),
    }


def value_or_reason(ask: Callable[[], Any]) -> Any:
    """The result of a call, or the reason why there is none."""
    try:
        return ask()
    except (OSError, ValueError, KeyError) as error:
        return unknown(str(error) or type(error).__name__)


def kvm(device: Path) -> dict[str, Any]:
    """Whether KVM can accelerate an emulator here."""
    if os.access(device, os.R_OK | os.W_OK):
        return {"present": True, "usable": True}
    present = device.exists()
    why = f"this user may not read and write {device}" if present else f"{device} does not exist"
    return {"present": present, "usable": False, "why": why}


def pip_version() -> str | Unknown:
    try:
        return metadata.version("pip")
    except metadata.PackageNotFoundError:
        return unknown("pip is not installed beside this Python")


def _field(path: str, name: str) -> str:
    for line in Path(path).read_text(errors="replace").splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == name:
            return value.strip()
    raise ValueError(f"{path} has no {name!r}")
