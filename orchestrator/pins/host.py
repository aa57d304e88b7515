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


def unknown(why: str) -> Unknown:
    """The one shape of a fact that could not be found."""
    return {"value": None, "why": why}


def host_facts() -> dict[str, Any]:
    return {
        "os": value_or_reason(_os),
        "kernel": f"{platform.system()} {platform.release()} {platform.version()}",
        "machine": platform.machine(),
        "cpu": {
            "model": value_or_reason(_cpu_model),
            "cores": os.cpu_count() or unknown("the system does not report it"),
        },
        "memory_kb": value_or_reason(_memory_kb),
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
    if not device.exists():
        return {"present": False, "usable": False, "why": f"{device} does not exist"}
    if not os.access(device, os.R_OK | os.W_OK):
        why = f"this user may not read and write {device}"
        return {"present": True, "usable": False, "why": why}
    return {"present": True, "usable": True}


def pip_version() -> str | Unknown:
    try:
        return metadata.version("pip")
    except metadata.PackageNotFoundError:
        return unknown("pip is not installed beside this Python")


def _os() -> str:
    return platform.freedesktop_os_release()["PRETTY_NAME"]


def _cpu_model() -> str:
    return _field(Path("/proc/cpuinfo"), "model name")


def _memory_kb() -> int:
    return int(_field(Path("/proc/meminfo"), "MemTotal").split()[0])


def _field(path: Path, name: str) -> str:
    for line in path.read_text(errors="replace").splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == name:
            return value.strip()
    raise ValueError(f"{path} has no {name!r}")
