"""Device faults: the closed list of reasons, and the rules that read them from adb's messages."""

from __future__ import annotations

import re

from ..errors import EmufarmError

# Faults that may pass by themselves; any other needs someone to act.
TRANSIENT = frozenset(
    {
        "device_offline",
        "device_connecting",
        "transport_closed",
        "shell_truncated",
        "adb_server",
        "device_not_found",
    }
)
REASONS = TRANSIENT | {
    "adb_refused",  # refused by adb with a message that no rule below knows
    "ambiguous_device",
    "bad_answer",  # complete, but not in the format that the query has
    "bad_screenshot",
    "command_failed",
    "console_closed",
    "console_refused",
    "console_unreachable",
    "device_ended",  # it and the next are of a device that is gone (presence.py)
    "device_hung",
    "device_unauthorized",
    "install_refused",
    "local_file",
    "no_ui_tree",
    "not_ready",
    "output_too_large",
    "package_missing",
    "provider_error",
    "service_missing",
    "snapshot_failed",
    "supervisor",
    "supervisor_gone",  # nothing listens on its port
    "sync_refused",
    "timeout",
}


class DeviceFault(EmufarmError):
    """One failed call: a reason from the closed list and the text from which it was read."""

    def __init__(self, reason: str, text: str, *, during: str = "") -> None:
        assert reason in REASONS, reason
        self.reason = reason
        self.text = text
        self.during = during
        where = f" during {_short(during)}" if during else ""
        super().__init__(f"{reason.replace('_', ' ')}{where}: {_short(text) or '(no text)'}")

    @property
    def transient(self) -> bool:
        return self.reason in TRANSIENT


def _short(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit]}..."


# adb's own messages, searched in this order.
ADB_RULES = (
    (r"device offline", "device_offline"),
    (r"device still (connecting|authorizing)", "device_connecting"),
    (r"device unauthorized", "device_unauthorized"),
    (r"device '.*' not found|no devices/emulators found|device not found", "device_not_found"),
    (r"unknown transport id|no such device", "device_not_found"),
    (r"more than one (device|emulator)", "ambiguous_device"),
    (r"cannot connect to daemon|Connection refused", "adb_server"),
    (r"^closed$|protocol fault|[Cc]onnection reset|[Bb]roken pipe|EOF", "transport_closed"),
)

# The framework's messages, after which programs often exit with 0.
SERVICE_MISSING = re.compile(r"Can't find service: \S+|No service published for: \S+")
PROVIDER_ERROR = re.compile(r"Error while accessing provider:\s*\S+")
# dumpsys prints what it has and exits with 0 even if the service died or timed out half-way.
DUMP_BROKEN = re.compile(r"Error dumping service info\b.*")
DUMP_TIMEOUT = re.compile(r"\*\*\* SERVICE '.*' DUMP TIMEOUT \(.*")
PACKAGE_MISSING = re.compile(r"^Unable to find package: \S+", re.MULTILINE)


def classify(text: str) -> str:
    """The reason for an adb error message; its `adb: ` and `error: ` prefixes are ignored."""
    bare = re.sub(r"^(?:(?:adb|error|adb\.exe): *)+", "", text.strip())
    matching = (reason for pattern, reason in ADB_RULES if re.search(pattern, bare))
    return next(matching, "adb_refused")


def adb_fault(text: str, during: str = "") -> DeviceFault:
    return DeviceFault(classify(text), text, during=during)
