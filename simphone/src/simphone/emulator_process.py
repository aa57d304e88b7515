"""The emulator's process: a running phone on its AVD and its ports, until it exits with a code."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import re
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from .avd import Avd
from .console.token import ensure_token, token_path
from .faults.start import StartFailure, start
from .lock import AvdLock, InUse
from .options import BANNER, FIRST_PORT, LAST_PORT, VERSION, Options
from .phone import Phone
from .snapshots import FULL, MISSING, SnapshotError, Snapshots, listing
from .tree import copy_tree

# No file of the guest grows beyond its disk; what is written past that fails with EFBIG.
LARGEST_FILE = 6 << 30
# glibc's mallopt(M_MMAP_THRESHOLD): blocks from this size on go back to the system when freed.
# By itself it would keep the 8 MB of a screenshot, once for each thread that drew one.
M_MMAP_THRESHOLD, LARGE_BLOCK = -3, 1 << 20
# What a first boot writes, and room for the databases' logs. SQLite on a full disk says anything
# from "disk I/O error" on, so it is better not begun.
ROOM = 4 << 20
NO_ROOM = "Not enough disk space to run AVD '{}'. Exiting..."
TOO_MANY = "It seems too many emulator instances are running on this machine. Aborting."


def log(level: str, text: str) -> None:
    """A line of the emulator's log, on stdout. Nobody reading it is no reason to stop."""
    try:
        print(f"{level:<12} | {text}", flush=True)
    except OSError:  # nobody listens any more, or the disk that the log is on is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bound_resources() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    most = LARGEST_FILE if hard == resource.RLIM_INFINITY else min(hard, LARGEST_FILE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have no such habit
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)


def look(options: Options, avd: Avd) -> int:
    """What can be said of the AVD's snapshots without starting it."""
    hardware = avd.hardware(options.memory_mb, options.cores)
    snapshots = Snapshots(avd.snapshots, hardware, avd.image(), VERSION)
    if options.mode == "list-snapshots":
        print(listing(snapshots.list()).replace("\r\n", "\n"), end="")
        return 0
    try:
        snapshots.check(options.check_snapshot)
    except SnapshotError as error:
        print(f"Not loadable\nReason: {error.reason}")
    else:
        print("Loadable")
    return 0


@contextmanager
def _disk(options: Options, avd: Avd) -> Iterator[Path]:
    """The AVD's own disk, locked; or, read-only, a copy that dies with this process."""
    if not options.read_only:
        lock = AvdLock(avd.folder)
        try:
            yield avd.userdata
        finally:
            lock.release()
        return
    scratch = Path(tempfile.mkdtemp(prefix="emulator-read-only-"))
    try:
        if avd.userdata.is_dir():
            copy_tree(avd.userdata, scratch / "userdata")
        yield scratch / "userdata"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def run(options: Options, avd: Avd, environ: Mapping[str, str]) -> int:
    port = environ.get("ANDROID_ADB_SERVER_PORT") or "5037"
    if not re.fullmatch("[0-9]{1,5}", port):
        print(f"ANDROID_ADB_SERVER_PORT must be a port, not '{port[:80]}'", file=sys.stderr)
        return 1
    _bound_resources()
    log("INFO", BANNER)
    log("INFO", "This is the simulated phone of emufarm; not Google's emulator.")
    try:
        start(options.faults, avd.name)
        with _disk(options, avd) as userdata:
            if shutil.disk_usage(userdata.parent).free < ROOM:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return asyncio.run(_serve(options, avd, userdata, environ))
    except StartFailure as failure:
        for level, text in failure.lines:
            log(level, text)
        return 1
    except InUse:
        log("ERROR", "Running multiple emulators with the same AVD")
        log("ERROR", "is an experimental feature.")
        log("ERROR", "Please use -read-only flag to enable this feature.")
        return 1
    except (OSError, sqlite3.Error) as error:
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        cannot = f"AVD [{avd.name}] cannot be used: {error}"
        log("FATAL", NO_ROOM.format(avd.name) if full else cannot)
        return 1


def _port_pairs(options: Options) -> Iterator[Options]:
    """The pair that was asked for, or all that the emulator tries."""
    if options.console_port:
        yield options
        return
    for port in range(FIRST_PORT, LAST_PORT + 1, 2):
        yield replace(options, console_port=port, adb_port=port + 1)


async def _listening(
    options: Options, avd: Avd, userdata: Path, environ: Mapping[str, str]
) -> Phone | None:
    """A phone on its ports; None where all are taken."""
    from .apps import APPS
    from .shell.interpreter import run_script

    token_file = token_path(environ.get("HOME", ""))
    try:
        ensure_token(token_file)
    except OSError:
        log("ERROR", f"Unable to access '{token_file}': emulator console will not work")
    for attempt in _port_pairs(options):
        phone = Phone(
            attempt, avd, userdata, apps=APPS, run_shell=run_script, token_file=token_file,
            server_port=int(environ.get("ANDROID_ADB_SERVER_PORT") or 5037), log=log,
        )  # fmt: skip
        try:
            await phone.listen()
        except OSError as error:
            if options.console_port or options.verbose:
                ports = f"{attempt.console_port},{attempt.adb_port}"
                log("ERROR", f"ports {ports}: {os.strerror(error.errno or 0)}")
            continue
        return phone
    return None


async def _serve(options: Options, avd: Avd, userdata: Path, environ: Mapping[str, str]) -> int:
    phone = await _listening(options, avd, userdata, environ)
    if phone is None:
        log("ERROR", TOO_MANY)
        return 1
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, phone.quit, 0)
    try:
        if not _start(phone):
            return 1
        phone.offer()
        return await phone.exited
    finally:
        await phone.stop()


def _start(phone: Phone) -> bool:
    """From a snapshot where one is asked for, else cold; False where it must be and cannot."""
    options, tag = phone.options, phone.options.snapshot
    wanted = bool(tag) and not options.no_snapshot_load and not options.change_locale
    if wanted and phone.world.faults.at("start.snapshot", tag):
        log("INFO", f"Loading snapshot '{tag}'...")
        try:
            phone.restore_at_start(tag)
        except SnapshotError as error:
            log("WARNING", f"Failed to load snapshot '{tag}'")
            if error.reason == FULL:  # says nothing about the snapshot
                log("FATAL", NO_ROOM.format(phone.avd.name))
                return False
            if options.force_snapshot_load:
                log(
                    "FATAL",
                    f"Failed to load snapshot, because '{error.reason}'; "
                    "Emulator will delete existing snapshot and exit.",
                )
                found = error.reason != MISSING and tag in phone.snapshots.tags()
                if found and not options.read_only:
                    phone.snapshots.delete(tag)
                return False
            log("WARNING", f"starting from scratch. Reason: {error.reason}")
        else:
            log("INFO", f"Successfully loaded snapshot '{tag}'")
            log("INFO", f"Boot completed in {phone.elapsed_ms()} ms")
            return True
    if tag:
        log("INFO", "performing a cold boot")
    phone.power_on()
    return True
