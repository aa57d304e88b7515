"""The Device: one phone with its shell, console, supervisor, screen, input, files and apps."""

from __future__ import annotations

from .adb import Adb
from .adb_socket import AdbSocket, Listener
from .clock import Clock
from .console import Console
from .faults import DeviceFault
from .files import Files
from .foreground import Foreground, foreground
from .identity import Identity, capabilities, identify
from .input import Input
from .notifications import Notification, notifications
from .packages import Packages
from .presence import Presence
from .providers import Providers
from .readiness import Readiness, missing, wait_ready
from .reconnect import renew
from .retry import RECONNECT
from .screen import Display, Screen, display
from .settings import AndroidSettings, Properties
from .shell import Shell
from .snapshot import Snapshots
from .supervisor_client import SupervisorClient


class Device:
    """A phone and, if it has them, its console and supervisor. The constructor does no I/O."""

    def __init__(
        self,
        serial: str,
        adb_port: int,
        *,
        console: Console | None = None,
        supervisor: SupervisorClient | None = None,
        listener: Listener | None = None,
    ) -> None:
        self.serial = serial
        listening = Presence(supervisor).require
        self.adb_socket = AdbSocket(serial, adb_port, listening=listening)
        self.shell = Shell(self.adb_socket)
        self.adb = Adb(serial, adb_port, listening)
        self.supervisor = supervisor
        self.properties = Properties(self.shell)
        self.settings = AndroidSettings(self.shell)
        self.providers = Providers(self.shell)
        self.packages = Packages(self.shell, self.adb)
        self.files = Files(self.shell, self.adb)
        self.screen = Screen(self.shell)
        self.input = Input(self.shell)
        self.clock = Clock(self.shell)
        self._console = console
        if console is not None:
            console.listening = listening
        self.listen(listener)

    def listen(self, listener: Listener | None) -> None:
        """Reports every further exchange with the phone to the listener; None ends this."""
        self.adb_socket.listener = listener
        if self._console is not None:
            self._console.listener = listener

    @property
    def has_console(self) -> bool:
        return self._console is not None

    @property
    def console(self) -> Console:
        if self._console is None:
            raise DeviceFault("console_unreachable", f"no console is known for {self.serial}")
        return self._console

    @property
    def snapshots(self) -> Snapshots:
        return Snapshots(self.shell, self.console, self.files)

    def foreground(self) -> Foreground:
        return foreground(self.shell)

    def notifications(self) -> tuple[Notification, ...]:
        return notifications(self.shell)

    def display(self) -> Display:
        return display(self.shell)

    def missing(self) -> tuple[str, ...]:
        """The conditions of readiness that do not hold now."""
        return missing(self.shell)

    def wait_ready(self, seconds: float) -> Readiness:
        return wait_ready(self.shell, seconds)

    def capabilities(self) -> frozenset[str]:
        return capabilities(self.shell)

    def identity(self) -> Identity:
        version = self.supervisor.facts().emulator_version if self.supervisor else None
        return identify(self.shell, self._console, version)

    def observed_pins(self, fingerprint: str | None = None) -> dict[str, str | None]:
        """The values of the pins that an image's lock names, keyed as in pins/mismatch.py.

        The caller has read the fingerprint with its other proofs; the supervisor, where there is
        one, supplies the rest. DeviceFault if it does not answer.
        """
        pins: dict[str, str | None] = {} if fingerprint is None else {"fingerprint": fingerprint}
        if self.supervisor is not None:
            facts = self.supervisor.facts()
            pins |= {
                "emulator_version": facts.emulator_version,
                "adb_version": facts.adb_version,
                "avd": facts.avd,
                "config_ini": facts.config_ini,
                "snapshot": facts.snapshot,
                "snapshot_sha256": facts.snapshot_sha256,
            }
        return pins

    def life(self) -> str | None:
        """Identifies the emulator process behind this device; None without a supervisor."""
        return None if self.supervisor is None else self.supervisor.facts().life

    def reconnect(self) -> None:
        """Rung 1 of the recovery ladder: drops the connection, waits for a new one and uses it."""
        emulator = None if self._console is None else self._console.port + 1

        def attempt() -> None:
            renew(self.adb_socket, emulator)
            self.adb_socket.shell("true", timeout=5)

        RECONNECT(attempt)


def console_port(serial: str) -> int | None:
    """The port in `emulator-5554`; None for other serials, which have no reachable console."""
    name, _, number = serial.partition("-")
    return int(number) if name == "emulator" and number.isdecimal() else None
