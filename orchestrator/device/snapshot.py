"""Saves snapshots, and loads them with proof that the phone is back in the saved state.

The console's `OK` only acknowledges the command: the connection drops and comes back, and
boot_completed is 1 at once because it was saved that way. A load is complete when it is observed.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from .clock import Clock, ClockOffset
from .console import Console, load_command
from .deadline import Deadline
from .faults import DeviceFault
from .files import Files
from .readiness import Pause, wait_ready
from .reconnect import new_transport
from .screen import Screen
from .settings import Properties
from .shell import Shell

SENTINEL_FILE = "/data/local/tmp/.emufarm-sentinel"
SENTINEL_PROPERTY = "debug.emufarm.sentinel"
_FRAME_SECONDS = 10.0


@dataclass(frozen=True)
class Frame:
    """A picture taken after the load; it has one colour if the display draws nothing."""

    width: int
    height: int
    uniform: bool


@dataclass(frozen=True)
class LoadProof:
    """What was observed of a load. The caller, who has the image's lock, decides whether boot_id,
    marker, fingerprint, clock and frame are the expected ones."""

    tag: str
    command: str  # as sent to the console
    reply: str  # the console's whole reply, its OK included
    old_transport: int | None  # None: the phone was unreachable before
    new_transport: int
    boot_id: str
    fingerprint: str
    marker: str | None  # the baked file's content; None: absent, or not requested
    file_gone: bool | None  # the sentinel; None: it could not be written before
    property_gone: bool | None
    frame: Frame
    clock_before: ClockOffset | None  # None: the phone did not answer before
    clock_after: ClockOffset
    steps: Mapping[str, float]  # seconds by step, in order


@dataclass(frozen=True)
class _Before:
    """The phone's state before the load, as far as it answered."""

    transport: int | None = None
    file: bool = False  # whether the sentinel was written
    property: bool = False
    clock: ClockOffset | None = None


class Snapshots:
    def __init__(self, shell: Shell, console: Console, files: Files) -> None:
        self._shell = shell
        self._console = console
        self._files = files

    def save(self, tag: str) -> None:
        """Syncs the disk, saves, and checks that the snapshot is listed; else a fault."""
        self._shell.do("sync", timeout=60)
        self._console.save_snapshot(tag)
        if tag not in {row.tag for row in self._console.snapshots()}:
            raise DeviceFault("snapshot_failed", f"{tag} is not listed after its save")

    def load(
        self,
        tag: str,
        *,
        marker: str | None = None,
        nonce: str | None = None,
        seconds: float = 60.0,
        pause: Pause = time.sleep,
    ) -> LoadProof:
        """Loads the snapshot and waits for the whole proof, at most `seconds` after the reply.

        `marker` is the path of a file that was baked into the snapshot. A phone that does not
        answer can be loaded too; then there are no sentinels, and the proof says so.
        """
        steps = _StepTimer()
        command, nonce = load_command(tag), nonce or secrets.token_hex(8)
        if not re.fullmatch(r"[A-Za-z0-9]+", nonce):  # it goes into a command line without quoting
            raise ValueError(f"not a nonce: {nonce!r}")
        before = self._plant(nonce)
        steps.done("plant")
        reply = self._console.load_snapshot(tag)
        self._require_loaded(tag)
        steps.done("console")
        deadline = Deadline(seconds)
        transport = self._new_transport(before.transport, deadline, pause)
        steps.done("transport")
        since = f"{seconds:g} s after the load of {tag}: "
        wait_ready(self._shell, deadline.share(), pause=pause).require(since)
        steps.done("framework")
        properties = Properties(self._shell)
        # The content is compared, because the snapshot may contain a sentinel of an earlier load.
        file_gone = (self._text(SENTINEL_FILE) or "").strip() != nonce if before.file else None
        property_gone = properties.get(SENTINEL_PROPERTY) != nonce if before.property else None
        if file_gone is False or property_gone is False:
            raise DeviceFault("snapshot_failed", f"a sentinel outlived the load of {tag}")
        steps.done("sentinels")
        frame = self._frame(Deadline(deadline.share(_FRAME_SECONDS)), pause)
        steps.done("frame")
        clock = Clock(self._shell)
        return LoadProof(
            tag=tag,
            command=command,
            reply=reply,
            old_transport=before.transport,
            new_transport=transport,
            boot_id=clock.boot_id(),
            fingerprint=properties.get("ro.build.fingerprint"),
            marker=self._text(marker) if marker is not None else None,
            file_gone=file_gone,
            property_gone=property_gone,
            frame=frame,
            clock_before=before.clock,
            clock_after=clock.offset(),
            steps=steps.done("identity"),
        )

    def _plant(self, nonce: str) -> _Before:
        """Writes the sentinels, a file and a property that the load must undo."""
        adb_socket, before = self._shell.adb_socket, _Before()
        script = (
            f"echo {nonce} > {SENTINEL_FILE}; setprop {SENTINEL_PROPERTY} {nonce};"
            f" echo file=$(cat {SENTINEL_FILE}); echo property=$(getprop {SENTINEL_PROPERTY})"
        )
        try:
            before = replace(before, transport=adb_socket.transport_id())
            output = adb_socket.shell(script, timeout=5).text.split()
            file, property = f"file={nonce}" in output, f"property={nonce}" in output
            before = replace(before, file=file, property=property)
            return replace(before, clock=Clock(self._shell).offset(timeout=5))
        except DeviceFault:
            # Lost or hung: a load may bring it back. The proof shows which sentinels are missing.
            return before

    def _require_loaded(self, tag: str) -> None:
        loaded, status = self._console.loaded_snapshot(), self._console.avd_status()
        if loaded != tag:
            raise DeviceFault("snapshot_failed", f"{loaded} is loaded, not {tag}")
        if status != "virtual device is running":
            raise DeviceFault("snapshot_failed", status)

    def _new_transport(self, old: int | None, deadline: Deadline, pause: Pause) -> int:
        adb_socket, emulator = self._shell.adb_socket, self._console.port + 1
        try:
            return new_transport(adb_socket, old, emulator, deadline, pause)
        except DeviceFault as fault:
            raise DeviceFault("snapshot_failed", fault.text, during=fault.during) from fault

    def _text(self, path: str) -> str | None:
        if not self._files.exists(path):
            return None
        return self._files.read(path).decode("utf-8", "replace")

    def _frame(self, deadline: Deadline, pause: Pause) -> Frame:
        """The first picture with more than one colour, or the last one before the deadline."""
        screen = Screen(self._shell)
        while True:
            try:
                shot = screen.capture()
                uniform = shot.uniform()
                if not uniform or deadline.passed:
                    return Frame(shot.width, shot.height, uniform)
            except DeviceFault as fault:
                if fault.reason != "bad_screenshot" or deadline.passed:
                    raise
            pause(0.1)


class _StepTimer:
    """Measures how long each step took."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._taken: dict[str, float] = {}

    def done(self, step: str) -> Mapping[str, float]:
        now = time.monotonic()
        self._taken[step], self._since = round(now - self._since, 6), now
        return dict(self._taken)
