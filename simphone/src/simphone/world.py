"""The phone's one mutable state, and the two halves of it that a snapshot keeps.

The disk half is files under the AVD (databases, packages, settings, media). The memory half is
the `parts`: plain data, saved and loaded by name. Whoever adds state adds a part or a file;
there is no third place. Everything runs on one event loop, so nothing here needs a lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .adbd.network import GuestNetwork
from .background import Background
from .clock import Clock
from .databases import Databases
from .disk import Disk
from .effects import Effects
from .faults.seam import Faults
from .logcat import Logcat
from .noise import Noise
from .processes import Processes
from .properties import Properties
from .services.clipboard import Clipboard
from .services.notifications import Notifications
from .services.packages import Packages
from .services.settings import Settings
from .services.telephony import Telephony
from .state import Json, Part
from .ui.windows import Windows

if TYPE_CHECKING:
    from .control import Control
    from .ui.screen import App


class World:
    control: Control  # set by the emulator process before anything runs
    boot_id: str

    def __init__(
        self,
        disk: Disk,
        apps: dict[str, App],
        *,
        noise: Noise | None = None,
        faults: Faults | None = None,
    ) -> None:
        self.disk = disk
        self.apps = apps  # by package
        self.noise = noise or Noise()
        self.faults = faults or Faults()
        self.boot_id = ""
        self.clock = Clock()
        self.effects = Effects(self.clock)
        self.background = Background()
        self.network = GuestNetwork()
        self.properties = Properties()
        self.processes = Processes(self.clock, self.noise)
        self.logcat = Logcat(self.clock)
        self.databases = Databases(disk, self.noise)
        self.settings = Settings(self.databases)
        self.packages = Packages(disk)
        self.notifications = Notifications(self.clock)
        self.clipboard = Clipboard()
        self.telephony = Telephony(self)
        self.windows = Windows(self)

    def _parts(self) -> dict[str, Part]:
        return {
            "clock": self.clock,
            "effects": self.effects,
            "properties": self.properties,
            "processes": self.processes,
            "logcat": self.logcat,
            "notifications": self.notifications,
            "clipboard": self.clipboard,
            "telephony": self.telephony,
            "windows": self.windows,
        }

    def save_memory(self) -> Json:
        return {"boot_id": self.boot_id} | {n: p.save() for n, p in self._parts().items()}

    def load_memory(self, state: Json) -> None:
        """The disk half must be in place already."""
        self.background.cancel_all()
        self.packages.forget()
        self.disk.full = False
        self.boot_id = str(state["boot_id"])
        for name, part in self._parts().items():
            part.load(state[name])

    def tick(self) -> None:
        """Bring everything that is due to pass; cheap, called before each look at the world."""
        self.effects.settle()
