"""Has the phone really gone back to its snapshot?

The console's `OK` only acknowledges: the connection drops and comes back, and boot_completed is 1
at once since it was saved so. A load is done when it is observed.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from .clock import Clock
from .console import Console, check_tag
from .deadline import Deadline
from .faults import DeviceFault
from .readiness import Pause, wait_ready
from .settings import Properties
from .shell import Shell

SENTINEL_FILE = "/data/local/tmp/.emufarm-sentinel"
SENTINEL_PROPERTY = "debug.emufarm.sentinel"


@dataclass(frozen=True)
class LoadProof:
    """What was observed of a load. Whether that is the *right* boot_id is for the lock to say."""

    tag: str
    old_transport: int | None  # None: the phone was unreachable before
    new_transport: int
    boot_id: str
    sentinels_gone: bool | None  # None: none could be written before
    seconds: float


class Snapshots:
    def __init__(self, shell: Shell, console: Console) -> None:
        self._shell = shell
        self._console = console

    def save(self, tag: str) -> None:
        """Written to disk first, then saved, then listed; a save that is not listed is a fault."""
        self._shell.do("sync", timeout=60)
        self._console.save_snapshot(tag)
        if tag not in {row.tag for row in self._console.snapshots()}:
            raise DeviceFault("snapshot_failed", f"{tag} is not listed after its save")

    def load(
        self,
        tag: str,
        *,
        nonce: str | None = None,
        seconds: float = 60.0,
        pause: Pause = time.sleep,
    ) -> LoadProof:
        """Load, and wait until all the proof is there. A phone that is lost already may be loaded
        too; then there is no sentinel, and the proof says so."""
        started = time.monotonic()
        check_tag(tag)
        old, planted = self._plant(nonce or secrets.token_hex(8))
        self._console.load_snapshot(tag)
        loaded = self._console.loaded_snapshot()
        if loaded != tag:
            raise DeviceFault("snapshot_failed", f"{loaded} is loaded, not {tag}")
        status = self._console.avd_status()
        if status != "virtual device is running":
            raise DeviceFault("snapshot_failed", status)
        new = self._new_transport(old, Deadline(seconds), pause)
        readiness = wait_ready(self._shell, seconds, pause=pause)
        if not readiness.ready:
            lacking = "; ".join(readiness.missing)
            raise DeviceFault("not_ready", f"{seconds:g} s after the load of {tag}: {lacking}")
        gone = self._sentinels_gone() if planted else None
        if gone is False:
            raise DeviceFault("snapshot_failed", f"a sentinel outlived the load of {tag}")
        boot_id = Clock(self._shell).boot_id()
        return LoadProof(tag, old, new, boot_id, gone, time.monotonic() - started)

    def _plant(self, nonce: str) -> tuple[int | None, bool]:
        """A file and a property that the load must undo."""
        wire = self._shell.wire
        try:
            transport = wire.transport_id()
            wire.shell(f"echo {nonce} > {SENTINEL_FILE}", timeout=5)
            wire.shell(f"setprop {SENTINEL_PROPERTY} {nonce}", timeout=5)
            written = wire.shell(f"cat {SENTINEL_FILE}; getprop {SENTINEL_PROPERTY}", timeout=5)
        except DeviceFault:
            # Unreachable: a load is how it may come back. The proof tells that nothing was planted.
            return None, False
        return transport, written.text.split() == [nonce, nonce]

    def _sentinels_gone(self) -> bool:
        listed = self._shell.query("ls", SENTINEL_FILE)
        return not listed.ok and Properties(self._shell).get(SENTINEL_PROPERTY) == ""

    def _announce(self) -> None:
        try:
            self._shell.wire.announce(self._console.port + 1)
        except DeviceFault:
            return  # only a shortcut; whoever waits sees what comes of it

    def _new_transport(self, old: int | None, deadline: Deadline, pause: Pause) -> int:
        """The old connection may still look alive: wait for one with another number."""
        step, last = 0.01, "never reachable"
        while not deadline.passed:
            try:
                number = self._shell.wire.transport_id()
                if number != old and self._shell.wire.state() == "device":
                    return number
                last = f"still transport {number}" if number == old else "not yet a device"
            except DeviceFault as fault:
                last = str(fault)
                if fault.reason == "device_not_found":
                    # The server redials by itself, but only once a second.
                    self._announce()
            pause(step)
            step = min(step * 1.5, 0.5)
        raise DeviceFault("snapshot_failed", f"no new connection in {deadline.seconds:g} s: {last}")
