"""What the inside of the phone may ask of the machine it runs on."""

from __future__ import annotations

from typing import Protocol


class Control(Protocol):
    """Implemented by the emulator process; each returns at once and happens soon after."""

    def reboot(self) -> None:
        """Cold boot of the guest: processes, properties and boot_id are new, the disk stays."""

    def restart_adbd(self, *, root: bool) -> None:
        """adbd drops its connection and comes back as root or as shell."""

    def power_off(self) -> None:
        """The guest shuts down and the emulator exits 0."""
