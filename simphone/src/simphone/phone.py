"""The machine around the world: what starts, stops, saves, loads and reboots the guest.

Quick Boot is not simulated: a phone that is stopped saves no `default_boot`, and one that is
started without `-snapshot` boots cold. Its disk stays as it was left, as a real one's does.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from . import boot, crash, procfs, system
from .adbd.announce import announce
from .adbd.handshake import Reception
from .adbd.server import Adbd
from .adbd.shell_protocol import RunShell
from .avd import Avd, write_ini
from .console.server import Console
from .disk import Disk
from .effect_table import HANDLERS
from .faults.order import FaultOrder
from .faults.shell import failing
from .noise import Noise
from .options import VERSION, Options
from .programs import table
from .services.settings import ADB_ENABLED
from .snapshots import SnapshotError, Snapshots, recover_userdata
from .state import Json
from .ui.screen import App
from .world import World

STOP_S = 0.5
# From a write of the setting to adbd's end or start.
SWITCH_S = 0.05
# How long programs may take to notice that their connection is gone.
SETTLE_S = 10.0
# A dropped device offers itself to the adb server until it is taken again: the server needs about
# a quarter of a second to let go of the old connection, and ignores offers until then.
OFFER_EVERY_S = 0.05
OFFERS = 20

Log = Callable[[str, str], None]


class Phone:
    """Implements control.Control for the guest and answers the console."""

    def __init__(
        self,
        options: Options,
        avd: Avd,
        userdata: Path,
        *,
        apps: dict[str, App],
        run_shell: RunShell,
        token_file: Path,
        server_port: int,
        log: Log,
        screenshot: Callable[[World], bytes] | None = None,
    ) -> None:
        self.options = options
        self.avd = avd
        self.running = True
        self.loaded = ""  # the tag of the last snapshot that was loaded
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.log = log
        self._token_file = token_file
        self._server_port = server_port
        self._started_s = time.monotonic()
        self._boots = 0  # as far as this process knows
        self._tasks: set[asyncio.Task[None]] = set()
        self.standstill = asyncio.Lock()  # held while the world is saved, loaded or rebooted
        self._stopped_clock: Json = None
        hardware = avd.hardware(options.memory_mb, options.cores)
        if not options.read_only:
            write_ini(avd.folder / "hardware-qemu.ini", hardware)
        recover_userdata(userdata)
        userdata.mkdir(parents=True, exist_ok=True)
        self.world = World(
            Disk(userdata, avd.system),
            apps,
            noise=Noise(options.noise),
        )
        self.world.control = self
        for order in options.faults:
            if order.point != "start":
                self.arm(order)
        own = {"boot.completed": self._completed, "adbd.switch": self._switch_due}
        self.world.effects.bind(self.world, {**HANDLERS, **own})
        self.world.settings.watch("global", ADB_ENABLED, self._adb_setting_written)
        procfs.install(self.world, hardware)
        table.install(self.world.disk)
        self.snapshots = Snapshots(
            avd.snapshots, hardware, avd.image(), VERSION,
            writable=not options.read_only, screenshot=screenshot,
        )  # fmt: skip
        if not options.read_only:
            self.snapshots.recover()
        self.adbd = Adbd(
            self.world,
            options.adb_port,
            skip_auth=options.skip_adb_auth,
            run_shell=failing(run_shell),
        )
        self.console = Console(self, options.console_port, token_file)

    # The process's side

    async def listen(self) -> None:
        """OSError where a port is taken; nothing is left open then."""
        await self.console.start()
        try:
            await self.adbd.start()
        except OSError:
            await self.console.stop()
            raise
        if self.options.delay_adb:
            self.adbd.pause()

    def restore_at_start(self, tag: str) -> None:
        """SnapshotError where it cannot be."""
        self.snapshots.restore(self.snapshots.prepare(tag, self.world), self.world)
        self._loaded(tag)

    def power_on(self) -> None:
        if self.options.wipe_data:
            self.world.databases.close()
            self.world.disk.wipe()
        self._boot()

    def offer(self) -> None:
        """Tell the adb server that there is a new device."""
        self._spawn(self._offer())

    def elapsed_ms(self) -> int:
        """Since this process or its last reboot began."""
        return int((time.monotonic() - self._started_s) * 1000)

    async def stop(self) -> None:
        self.world.effects.cancel()
        self.world.background.cancel_all()
        for task in self._tasks:
            task.cancel()
        try:
            async with asyncio.timeout(STOP_S):
                await asyncio.gather(self.console.stop(), self.adbd.stop())
        except TimeoutError:
            self.log("WARNING", "a program of the guest did not end in time")
        boot.store_persistent(self.world)
        self.world.databases.close()

    # The guest's side (control.Control)

    def reboot(self) -> None:
        self._kernel("Received sys.powerctl='reboot,userrequested'")
        self._spawn(self._reboot())

    def restart_adbd(self, *, root: bool) -> None:
        self.world.properties.force("service.adb.root", "1" if root else "0")
        self._spawn(self._reconnect())

    def power_off(self) -> None:
        self._kernel("Received sys.powerctl='shutdown,userrequested'")
        self.quit(0)

    def quit(self, code: int) -> None:
        if not self.exited.done():
            self.exited.set_result(code)

    # The tester's side

    def arm(self, order: FaultOrder) -> None:
        self.world.faults.arm(order, order.fault.make(self, order))

    def cut_adb(self) -> None:
        """adb loses the phone and finds it again."""
        self.turn_away(Reception.DEVICE)

    def turn_away(self, reception: Reception) -> None:
        """adb loses the phone, and is received so when it connects again."""
        self.adbd.turn_away(reception)
        self._spawn(self._offer_again())

    # The console's side

    def stop_guest(self) -> None:
        """Time stands still in there; adb is heard and not answered."""
        self.running = False
        self._stopped_clock = self.world.clock.save()
        self.world.effects.cancel()
        self.adbd.pause()

    def start_guest(self) -> None:
        self.running = True
        self.world.clock.load(self._stopped_clock)
        self.world.effects.load(self.world.effects.save())
        self.adbd.resume()

    def hold(self) -> None:
        """What reaches a stopped guest from outside waits for it."""
        if not self.running:
            self.world.clock.load(self._stopped_clock)
            self.world.effects.cancel()

    def save_snapshot(self, tag: str) -> None:
        if self.running:
            self.world.tick()
        self.snapshots.save(tag, self.world)

    async def load_snapshot(self, tag: str) -> None:
        """The device drops off adb and comes back with a new transport."""
        async with self.standstill:
            prepared = self.snapshots.prepare(tag, self.world)
            try:
                await self._halt()
            except TimeoutError as error:
                raise SnapshotError("internal error") from error
            self.snapshots.restore(prepared, self.world)
            self._loaded(tag)
            if not self.running:
                self.running = True
                self.adbd.resume()
        self.log("INFO", f"Successfully loaded snapshot '{tag}'")
        self._spawn(self._offer_again())

    def heartbeat(self) -> int:
        """A guest beats about once a second."""
        return int(self.world.clock.uptime())

    def discovery_path(self) -> Path:
        """Where Studio would look; a phone without gRPC has nothing to write there."""
        return self._token_file.parent / f".android/avd/running/pid_{os.getpid()}.ini"

    # Inside

    def _loaded(self, tag: str) -> None:
        self.loaded = tag
        system.hang_up(self.world)
        self.world.clock.offset_s += self.world.noise.clock_drift_s()
        self._follow_adb_setting()
        self.world.faults.at("snapshot.loaded", tag)

    def _boot(self) -> None:
        boot.power_on(self.world, self._firmware())
        self._follow_adb_setting()

    def _follow_adb_setting(self) -> None:
        """adbd runs while the setting says so: the one place that switches it."""
        on = self._adb_wanted()
        if on != self.adbd.enabled:
            self.adbd.enable(on)
        if on != (self.world.processes.find("adbd") is not None):
            system.run_adbd(self.world, on)

    def _adb_wanted(self) -> bool:
        with crash.contained(self.world, "system_server"):  # root may have wrecked the database
            return self.world.settings.adb_enabled()
        return self.adbd.enabled

    def _kernel(self, text: str) -> None:
        """What init writes to the kernel's log when system_server asks it for something."""
        if self.options.show_kernel:
            server = self.world.processes.find("system_server")
            asked_by = f"from pid: {server.pid if server else 0} (system_server)"
            self.log("INFO", f"[{self.world.clock.uptime():12.6f}] init: {text} {asked_by}")

    def _adb_setting_written(self) -> None:
        # A moment later: whoever wrote it over adb hears that it was done.
        self.world.effects.later(SWITCH_S, "adbd.switch")

    def _switch_due(self, world: World, args: dict[str, Json]) -> None:
        self._spawn(self._switch_adbd())

    async def _switch_adbd(self) -> None:
        async with self.standstill:
            was = self.adbd.enabled
            if was and not self._adb_wanted():
                self._kernel("Received control message 'stop' for 'adbd'")
            self._follow_adb_setting()
        if self.adbd.enabled and not was:
            await self._offer_again()

    def _firmware(self) -> boot.Firmware:
        options = self.options
        return boot.Firmware(
            avd_name=self.avd.name,
            seed=options.seed,
            boot_count=self._count_boot(),
            timezone=options.timezone,
            emulator=VERSION,
            locale=options.change_locale or "en-US",
            props=options.props,
            animation=not options.no_boot_anim,
        )

    def _count_boot(self) -> int:
        path = self.avd.folder / "boot_count"
        text = path.read_text() if path.is_file() else "0"
        stored = int(text) if text.isascii() and text.isdigit() else 0
        self._boots = max(stored, self._boots) + 1
        if not self.options.read_only:
            new = path.with_suffix(".new")
            try:
                new.write_text(str(self._boots))
                new.replace(path)
            except OSError as error:  # a full disk; this process still knows the number
                self.log("WARNING", f"cannot count the boot in {path}: {error.strerror}")
        return self._boots

    def _completed(self, world: World, args: dict[str, Json]) -> None:
        HANDLERS["boot.completed"](world, args)
        self.log("INFO", f"Boot completed in {self.elapsed_ms()} ms")
        world.faults.at("boot.completed", None)
        if self.options.delay_adb:
            self.adbd.resume()

    async def _drop(self) -> None:
        self.adbd.drop_all()
        async with asyncio.timeout(SETTLE_S):
            await self.adbd.settled()

    async def _halt(self) -> None:
        """Nothing runs in the guest any more that could touch the world."""
        self.world.background.cancel_all()
        await asyncio.sleep(0)  # what was cancelled unwinds now
        await self._drop()

    async def _reconnect(self) -> None:
        async with self.standstill:
            await self._drop()
        await self._offer_again()

    async def _reboot(self) -> None:
        async with self.standstill:
            self._started_s = time.monotonic()
            boot.store_persistent(self.world)
            await self._halt()
            self._boot()
        await self._offer_again()

    async def _offer_again(self) -> None:
        # A server that knew the device looks at its port again by itself, after a second.
        if not self.world.noise.chance(0.2):
            await self._offer()

    async def _offer(self) -> None:
        for _ in range(OFFERS):
            if self.adbd.connected or not self.adbd.enabled:
                return
            if not await announce(self._server_port, self.adbd.port):
                return
            await asyncio.sleep(OFFER_EVERY_S)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log("FATAL", f"the simulated phone is broken: {error!r}")
            self.quit(1)
