"""Judges how long a Pod may take to start, and when waiting is in vain. Pure: times come in."""

from __future__ import annotations

from dataclasses import dataclass

from ...outcome import Cause
from .pod_status import PodView

NOTICE_S = 10.0  # a Pod that waits for longer is worth a sentence
SLOW_S = 60.0  # likewise one that simply starts: images may be large
BOOT_GRACE_S = 10.0  # the worker reports a slow boot itself; this is for a probe that never passes
AVOIDED_S = 60.0  # for another node to take a Pod that may not be on some of them
AGAIN_S = 60.0  # before another device says that it waits for the same
RUNTIME_S = 20.0  # a container runtime that is busy makes a container at its next try


@dataclass(frozen=True)
class StartEnd:
    """It did not start."""

    cause: Cause
    text: str
    last: bool = False  # another Pod would wait in vain too


class WaitNews:
    """Of all slots of a fleet: what they wait for, and when that was last said."""

    def __init__(self) -> None:
        self._said: dict[str, float] = {}

    def is_news(self, text: str, now: float) -> bool:
        """Whether it was not said a moment ago, by this slot or another one."""
        for old in [each for each, since in self._said.items() if now - since > AGAIN_S]:
            del self._said[old]
        if text in self._said:
            return False
        self._said[text] = now
        return True


class StartPatience:
    """Of one slot's Pod. `since` is when the slot began to wait for a node and images: Pods that
    are taken away before they start do not begin anew."""

    def __init__(self, since: float, pending_s: float, boot_s: float) -> None:
        self.since = since
        self._pending_s = pending_s
        self._boot_s = boot_s + BOOT_GRACE_S
        self._placed = 0.0  # since when its node sets it up
        self._booting = 0.0  # since when its device's container has an image
        self._ready = 0.0  # since when its device has booted
        self._seen: dict[Cause, float] = {}  # since when
        self._noticed = ""

    def judge(self, view: PodView, now: float, *, at_work: bool) -> StartEnd | None:
        """Of a Pod that is not queued; `at_work`: another device of the run is, so there are
        nodes and images for devices."""
        waiting = view.waiting
        assert waiting is not None
        self._booting = self._booting or (now if "device" in view.images else 0.0)
        if view.device_started and not self._ready:
            self._ready = now
            self._seen.clear()  # what kept the device from starting says nothing of its worker
        cause, text = waiting.cause, waiting.text
        if waiting.hopeless:
            return StartEnd(cause, text)
        if self._booting and now - self._booting > self._boot_s and not view.device_started:
            return StartEnd(
                Cause.START_TIMEOUT, f"the phone was not ready after {self._boot_s:.0f} s"
            )
        # Whoever is at work elsewhere says nothing about these.
        self._placed = (self._placed or now) if view.node and not view.set_up else 0.0
        if self._placed and now - self._placed > self._pending_s:
            why = f"{view.node} has not set it up for {now - self._placed:.0f} s: {text}"
            return StartEnd(Cause.RUNTIME_ERROR, why)
        waited = now - self._seen.setdefault(cause, now)
        if cause is Cause.RUNTIME_ERROR and waited > RUNTIME_S:
            return StartEnd(cause, text)
        if cause is Cause.IMAGE_ERROR and waited > self._pending_s:
            return StartEnd(cause, f"{text} (for {waited:.0f} s)")
        if cause is not Cause.UNKNOWN or not self._booting or view.device_started:
            return self.pending(cause, text, now, at_work=at_work)
        return None

    def pending(self, cause: Cause, text: str, now: float, *, at_work: bool) -> StartEnd | None:
        """Without a limit while another device is at work. A device that has booted had a node and
        an image: its worker's time begins then."""
        waited = now - max(self.since, self._ready)
        if waited > self._pending_s and not at_work:
            why = f"{text} (for {waited:.0f} s, and no device is at work)"
            return StartEnd(cause, why, last=True)
        return None

    def without_others(self, now: float, *, at_work: bool) -> bool:
        """Of a Pod that keeps away from nodes, and that no other node takes: whether to try those
        again. Not while another device is at work: then the run goes on without this one."""
        waited = now - self._seen.setdefault(Cause.UNSCHEDULABLE, now)
        return waited > min(AVOIDED_S, self._pending_s / 2) and not at_work

    def notice(self, cause: Cause, text: str, now: float) -> bool:
        """Whether it is time to say why it waits; once for each reason."""
        patience = SLOW_S if cause is Cause.UNKNOWN else NOTICE_S
        if now - self.since <= patience or text == self._noticed:
            return False
        self._noticed = text
        return True
