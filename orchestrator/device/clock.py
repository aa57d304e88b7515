"""The phone's clock, boot id and uptime."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from .faults import DeviceFault
from .shell import Shell


@dataclass(frozen=True)
class ClockOffset:
    """Phone time minus host time; the uncertainty is half of the query's own duration."""

    seconds: float
    uncertainty: float


class Clock:
    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def now(self, *, timeout: float = 30.0) -> float:
        """Seconds since 1970 according to the phone."""
        text = self._shell.answer("date", "+%s.%N", timeout=timeout).strip()
        if not re.fullmatch(r"\d+\.\d+", text):
            raise DeviceFault("bad_answer", f"not a time: {text!r}", during="date")
        return float(text)

    def offset(self, *, timeout: float = 30.0) -> ClockOffset:
        before = time.time()
        now = self.now(timeout=timeout)
        after = time.time()
        return ClockOffset(now - (before + after) / 2, (after - before) / 2)

    def boot_id(self) -> str:
        """New at every boot; loading a snapshot restores the baked one."""
        text = self._shell.answer("cat", "/proc/sys/kernel/random/boot_id").strip()
        if not re.fullmatch(r"[0-9a-f-]{36}", text):
            raise DeviceFault("bad_answer", f"not a boot id: {text!r}", during="boot_id")
        return text

    def uptime(self) -> float:
        text = self._shell.answer("cat", "/proc/uptime")
        found = re.match(r"\d+\.\d+ ", text)
        if found is None:
            raise DeviceFault("bad_answer", f"not an uptime: {text[:200]!r}", during="uptime")
        return float(found[0])
