"""The supervised device: starts, restarts and stops the emulator and its adb server."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from . import SupervisorError
from .adb import TOKEN_NAME, console_kill, require_free, write_console_token
from .adb_server import AdbServer
from .avd_copy import check_golden, fresh_copy, snapshot_sha256
from .children import Child, Reaper
from .pulse import LOOK_S, WatchedChild

VERSION_S = 40.0  # for a program to print its version, without which a pin cannot be checked
TAIL_LIMIT = 1024 * 1024

T = TypeVar("T")


@dataclass(frozen=True)
class SupervisorSettings:
    """The values of the command line."""

    golden: Path
    avd_home: Path
    avd: str
    home: Path
    adb: str
    adb_port: int
    console_port: int
    emulator: tuple[str, ...]
    snapshot: str | None
    log: Path
    grace: float

    @property
    def adb_log(self) -> Path:
        return self.log.with_name(f"{self.log.stem}-adb.log")


class SupervisedDevice:
    """The emulator and its adb server. Each start is from a fresh copy of the AVD."""

    def __init__(self, settings: SupervisorSettings, reaper: Reaper) -> None:
        self.settings = settings
        self.state = "starting"  # starting | running | restarting | stopping | ended
        self.restarts = 0
        self.started_at = 0.0
        self.console_token = ""
        self.versions: dict[str, str | None] = {"adb": None, "emulator": None}
        self.snapshot_sha256: str | None = None  # of the copy's snapshot, once it is computed
        self.known = False  # whether versions and digest are computed, or never will be
        self.emulator: Child | None = None
        self.last_exit: int | None = None
        self.server = AdbServer(
            settings.adb, settings.adb_port, settings.console_port + 1, settings.adb_log, reaper,
            wanted=lambda: self.state in ("running", "restarting"), given_up=self._end,
        )  # fmt: skip
        self._watch = WatchedChild(settings.log, settings.console_port)
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._reaper = reaper
        self._stop_copy = threading.Event()

    async def start(self) -> None:
        """Start everything in order: locks, copy, token, adb server, emulator."""
        s = self.settings
        check_golden(s.golden, s.avd)
        require_free(
            {"adb server": s.adb_port, "console": s.console_port, "adb": s.console_port + 1}
        )
        self._make_home()
        await _together(self._bring_up(), self._learn_versions())
        self.known = True

    async def _bring_up(self) -> None:
        await self._copy()
        await self.server.start(self._env())
        self._start_emulator()
        await self._learn_snapshot()

    async def _learn_versions(self) -> None:
        s = self.settings
        adb, emulator = await _together(
            self._version("adb", [s.adb, "version"]),
            self._version("emulator", [*s.emulator, "-version"]),
        )
        self.versions = {"adb": adb, "emulator": emulator}

    async def _learn_snapshot(self) -> None:
        """Hash the snapshot while the phone boots: gigabytes take seconds. A load changes no file
        of it."""
        s = self.settings
        self.snapshot_sha256 = None
        if s.snapshot is None:
            return
        avd, stop = s.avd_home / f"{s.avd}.avd", self._stop_copy.is_set
        try:
            digest = await asyncio.to_thread(snapshot_sha256, avd, s.snapshot, stop)
            self.snapshot_sha256 = digest
        except OSError as error:  # an emulator that cannot load its snapshot removes it
            _log(f"the snapshot {s.snapshot} cannot be hashed: {error}")

    async def restart(self) -> None:
        """Kill, re-copy, start; returns when the new emulator runs."""
        if self.state != "running" or self.emulator is None:
            raise SupervisorError(f"the device cannot be restarted while it is {self.state}")
        self.state, self.known = "restarting", False
        self.restarts += 1  # now, not at the end: from here on it is another device
        old = self.emulator
        if await console_kill(self.settings.console_port, self.console_token):
            await old.wait(self.settings.grace)
        await old.stop(2)
        try:
            if old.running:
                raise SupervisorError(f"the emulator, process {old.pid}, survives SIGKILL")
            await self._copy()
            self._start_emulator()
            await self._learn_snapshot()
        except SupervisorError as error:
            self._end(error)
            raise
        self.known = True

    async def stop(self) -> None:
        """End everything within 5 s, including what the children started."""
        self.state = "stopping"
        self._stop_copy.set()
        self.server.cancel()
        children = [child for child in (self.emulator, self.server.child) if child is not None]
        await asyncio.gather(*(child.stop(2.5) for child in children))
        await self._reaper.end_everything(1)
        if self.emulator is not None:
            self.last_exit = self.emulator.code
        self.state = "ended"

    def facts(self) -> dict[str, object]:
        s, emulator = self.settings, self.emulator
        return {
            "state": self.state,
            "known": self.known,
            "versions": self.versions,
            "avd": s.avd,
            "avd_path": str(s.avd_home.resolve() / f"{s.avd}.avd"),
            "config_ini": self._config(),
            "snapshot": s.snapshot,
            "snapshot_sha256": self.snapshot_sha256,
            "serial": f"emulator-{s.console_port}",
            "ports": {"adb_server": s.adb_port, "console": s.console_port},
            "console_token": self.console_token,
            "console_token_path": str(s.home.resolve() / TOKEN_NAME),
            "pid": emulator.pid if emulator is not None and emulator.running else None,
            "exit_code": self.last_exit,
            "restarts": self.restarts,
            "adb_restarts": self.server.restarts,
            "started_at": self.started_at,
            "hung": self.hung,
            "doubtful": self._watch.doubtful or self.server.doubtful,
            "adb_lost": self.server.lost,
        }

    def tail(self, count: int) -> bytes:
        """The last bytes of the emulator's log."""
        try:
            with self.settings.log.open("rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(0, size - min(count, TAIL_LIMIT)))
                return log.read(TAIL_LIMIT)
        except FileNotFoundError:
            return b""

    @property
    def healthy(self) -> bool:
        return self._runs and not self.hung

    @property
    def hung(self) -> str:
        """How the emulator is seen to hang; empty if it is not."""
        return self._watch.hung if self._runs else ""

    @property
    def _runs(self) -> bool:
        return self.state == "running" and self.emulator is not None and self.emulator.running

    async def keep_looking(self) -> None:
        """Look at the emulator and the adb server for as long as the supervisor lives."""
        while True:
            await asyncio.sleep(LOOK_S)
            await asyncio.gather(self._watch.look(), self.server.look())

    def _emulator_ended(self, child: Child) -> None:
        self.last_exit = child.code
        if self.state == "running":
            self.state = "ended"
            _log(f"the emulator ended by itself with exit code {child.code}")
            self._end(child.code or 0)

    def _end(self, how: int | SupervisorError) -> None:
        if self.ended.done():
            return
        if isinstance(how, int):
            self.ended.set_result(how)
        else:
            self.ended.set_exception(how)

    def _config(self) -> str | None:
        s = self.settings
        try:
            path = s.avd_home / f"{s.avd}.avd" / "config.ini"
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:  # there is none between two copies
            return None

    def _env(self) -> dict[str, str]:
        s = self.settings
        home = s.home.resolve()
        return {
            **os.environ,
            "HOME": str(home),
            "ANDROID_AVD_HOME": str(s.avd_home.resolve()),
            "ANDROID_EMULATOR_HOME": str(home / ".android"),
            "ANDROID_ADB_SERVER_PORT": str(s.adb_port),
        }

    def _make_home(self) -> None:
        home = self.settings.home
        try:
            (home / ".android").mkdir(parents=True, exist_ok=True)
            self.settings.log.parent.mkdir(parents=True, exist_ok=True)
            self.console_token = write_console_token(home)
        except OSError as error:
            raise SupervisorError(f"cannot write the device's home {home}: {error}") from error

    async def _version(self, name: str, command: list[str]) -> str | None:
        """The version that a program prints; None if it prints none."""
        path = self.settings.home / f".version.{name}"
        path.unlink(missing_ok=True)
        child = self._reaper.start(name, command, self._env(), path)
        if not await child.wait(VERSION_S):
            await child.stop(0)
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        path.unlink()
        return text if child.code == 0 and text else None

    async def _copy(self) -> None:
        s = self.settings
        await asyncio.to_thread(fresh_copy, s.golden, s.avd_home, s.avd, self._stop_copy.is_set)

    def _start_emulator(self) -> None:
        if self.state not in ("starting", "restarting"):
            raise SupervisorError(f"no emulator is started while the device is {self.state}")
        s = self.settings
        command = [*s.emulator, "-avd", s.avd, "-port", str(s.console_port)]
        if s.snapshot is not None:
            command += ["-snapshot", s.snapshot, "-force-snapshot-load", "-no-snapshot-save"]
        self.emulator = self._reaper.start(
            "emulator", command, self._env(), s.log, self._emulator_ended
        )
        self._watch.begin(self.emulator)
        self.started_at = time.time()
        self.state = "running"


async def _together(*parts: Coroutine[None, None, T]) -> list[T]:
    """The results of all. If one fails, the others are ended before its error is raised, so that
    nothing they would print follows it."""
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _log(sentence: str) -> None:
    print(f"supervisor: {sentence}", file=sys.stderr, flush=True)
