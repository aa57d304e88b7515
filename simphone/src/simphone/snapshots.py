"""Saved states of the whole phone: memory and disk, written whole or not at all.

    snapshots/<tag>/snapshot.pb     metadata: versions, digests, the disk's manifest. JSON under
                                    the emulator's name; rewritten on every load, as the real one
                    hardware.ini    the hardware it was saved under
                    ram.bin         a digest line, then zlib of the world's memory as JSON
                    textures.bin    nothing a simulated GPU would miss, but its absence is found
                    screenshot.png  where drawing is at hand
                    disk/           a copy of userdata/

A save fills `.<tag>.new` and renames it into place; an old snapshot of the tag steps aside as
`.<tag>.old` between the two renames. Whoever is killed at any moment leaves the old or the new
one, and `recover` (run before anything is read) puts the survivor in place. A load first reads
and proves everything into `userdata.new`, and only then touches the living world. Both block the
event loop on purpose: the guest stands still meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import re
import shutil
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .avd import parse_ini, write_ini
from .tree import Manifest, Mismatch, copy_tree, copy_verified, manifest_from_json, remove_tree
from .world import World

FORMAT = 1
TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
FULL = "not enough disk space"
MISSING = "snapshot doesn't exist"
# Reasons after which the emulator does not go on.
FATAL = ("internal error", "emulation engine failed", "RAM loading failed",
         "textures loading failed", "unknown failure")  # fmt: skip
NEW, OLD = "userdata.new", "userdata.old"
_RAM_MAGIC = b"EMUFARM-RAM-1 "


class SnapshotError(Exception):
    """Why a snapshot cannot be saved, loaded or deleted: one of the emulator's reasons."""

    @property
    def reason(self) -> str:
        return str(self.args[0])

    @property
    def fatal(self) -> bool:
        return self.reason in FATAL


@dataclass(frozen=True)
class Metadata:
    tag: str
    saved_s: float
    vm_clock_s: float
    size: int
    loads: int  # how often it was loaded
    emulator: str
    image: str
    manifest: Manifest
    raw: dict[str, Any]


@dataclass(frozen=True)
class Prepared:
    """A snapshot that can be restored now."""

    metadata: Metadata
    memory: Any
    userdata: Path  # its disk, ready to take the living one's place


class Snapshots:
    def __init__(
        self,
        folder: Path,
        hardware: Mapping[str, str],
        image: str,
        emulator: str,
        *,
        writable: bool = True,
        screenshot: Callable[[World], bytes] | None = None,
    ) -> None:
        self.folder = folder
        self._hardware = dict(hardware)
        self._image = image  # digest of the system image's build.prop
        self._emulator = emulator  # version
        self._writable = writable  # False where other emulators read the same snapshots
        self._screenshot = screenshot

    def recover(self) -> None:
        """Finish or undo what a killed emulator left half done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.glob(".*.old"):
            tag = old.name[1 : -len(".old")]
            if (self.folder / tag).exists():
                remove_tree(old)
            else:
                old.rename(self.folder / tag)
        for new in self.folder.glob(".*.new"):
            remove_tree(new)

    def tags(self) -> list[str]:
        if not self.folder.is_dir():
            return []
        return sorted(p.name for p in self.folder.iterdir() if TAG.fullmatch(p.name) and p.is_dir())

    def list(self) -> list[Metadata]:
        """Those whose metadata can be read, oldest first."""
        found = []
        for tag in self.tags():
            try:
                found.append(self._metadata(tag))
            except SnapshotError:
                continue  # the emulator lists no snapshot whose metadata is bad
        return sorted(found, key=lambda metadata: metadata.saved_s)

    def save(self, tag: str, world: World) -> None:
        if not TAG.fullmatch(tag):
            raise SnapshotError(f"bad snapshot name '{tag}'")
        new = self.folder / f".{tag}.new"
        try:
            self.recover()
            self._fill(new, world)
            self._put_in_place(new, tag)
        except OSError as error:
            shutil.rmtree(new, ignore_errors=True)
            raise SnapshotError(f"could not write the snapshot: {error.strerror}") from error

    def _fill(self, new: Path, world: World) -> None:
        new.mkdir()
        world.databases.close()  # checkpoints the -wal files, so that the copies are whole
        manifest = copy_tree(world.disk.userdata, new / "disk")
        memory = zlib.compress(json.dumps(world.save_memory()).encode(), 1)
        digest = hashlib.sha256(memory).hexdigest().encode()
        (new / "ram.bin").write_bytes(_RAM_MAGIC + digest + b"\n" + memory)
        (new / "textures.bin").write_bytes(b"EMUFARM-TEXTURES-1\n")
        write_ini(new / "hardware.ini", self._hardware)
        if self._screenshot is not None:
            (new / "screenshot.png").write_bytes(self._screenshot(world))
        facts = {
            "format": FORMAT,
            "emulator": self._emulator,
            "image": self._image,
            "saved_s": time.time(),
            "vm_clock_s": world.clock.uptime(),
            "size": len(memory) + sum(size for _, _, size, _ in manifest.values()),
            "successful_loads": 0,
            "disk": manifest,
        }
        (new / "snapshot.pb").write_text(json.dumps(facts))

    def _put_in_place(self, new: Path, tag: str) -> None:
        place, old = self.folder / tag, self.folder / f".{tag}.old"
        if place.exists():
            place.rename(old)
        new.rename(place)
        remove_tree(old)

    def delete(self, tag: str) -> None:
        if tag not in self.tags():
            raise SnapshotError(MISSING)
        gone = self.folder / f".{tag}.new"
        try:
            (self.folder / tag).rename(gone)
            remove_tree(gone)
        except OSError as error:
            raise SnapshotError(f"could not delete the snapshot: {error.strerror}") from error

    def check(self, tag: str) -> Metadata:
        """All that can be known without reading the data, as -check-snapshot-loadable does."""
        metadata = self._metadata(tag)
        place = self.folder / tag
        if metadata.raw.get("format") != FORMAT or metadata.emulator != self._emulator:
            raise SnapshotError("incompatible snapshot version")
        if not (place / "hardware.ini").is_file() or not (place / "disk").is_dir():
            raise SnapshotError("missing snapshot files")
        for name, reason in (
            ("ram.bin", "missing saved RAM data"),
            ("textures.bin", "missing saved textures data"),
        ):
            if not (place / name).is_file() or not (place / name).stat().st_size:
                raise SnapshotError(reason)
        try:
            saved = parse_ini((place / "hardware.ini").read_text())
        except (OSError, ValueError) as error:
            raise SnapshotError("bad snapshot metadata") from error
        if saved != self._hardware:
            raise SnapshotError("different AVD configuration")
        if metadata.image != self._image:
            raise SnapshotError("system image changed")
        return metadata

    def prepare(self, tag: str, world: World) -> Prepared:
        """Everything read and proven, beside the living world; SnapshotError leaves no trace."""
        metadata = self.check(world.faults.at("snapshot.prepare", tag))
        memory = self._memory(tag)
        new = world.disk.userdata.with_name(NEW)
        try:
            remove_tree(new)
            copy_verified(self.folder / tag / "disk", new, metadata.manifest)
        except (OSError, Mismatch) as error:
            shutil.rmtree(new, ignore_errors=True)
            full = isinstance(error, OSError) and error.errno == errno.ENOSPC
            raise SnapshotError(FULL if full else "bad snapshot data") from error
        return Prepared(metadata, memory, new)

    def restore(self, prepared: Prepared, world: World) -> None:
        """The world becomes the saved one; SnapshotError leaves it as it was."""
        if world.faults.at("snapshot.load", True):
            self._swap(prepared, world)
        shutil.rmtree(prepared.userdata, ignore_errors=True)
        if self._writable:
            self._count_load(prepared.metadata)

    def _swap(self, prepared: Prepared, world: World) -> None:
        userdata, new = world.disk.userdata, prepared.userdata
        old = userdata.with_name(OLD)
        kept = world.save_memory()
        world.databases.close()
        world.effects.cancel()
        try:
            remove_tree(old)
            userdata.rename(old)
            new.rename(userdata)
            world.load_memory(prepared.memory)
        except (OSError, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            world.databases.close()
            if old.exists():
                if userdata.exists():
                    userdata.rename(new)
                old.rename(userdata)
            world.load_memory(kept)
            shutil.rmtree(new, ignore_errors=True)
            raise SnapshotError("bad snapshot data") from error
        # Whatever stays behind is removed by the next load, or the next start.
        with contextlib.suppress(OSError):
            remove_tree(old)

    def _metadata(self, tag: str) -> Metadata:
        if tag not in self.tags():
            raise SnapshotError(MISSING)
        path = self.folder / tag / "snapshot.pb"
        if not path.is_file():
            raise SnapshotError("missing snapshot files")
        try:
            raw = json.loads(path.read_bytes())
            return Metadata(
                tag, _moment(raw["saved_s"]), _moment(raw["vm_clock_s"]), int(raw["size"]),
                int(raw["successful_loads"]), str(raw["emulator"]), str(raw["image"]),
                manifest_from_json(raw["disk"]), raw,
            )  # fmt: skip
        except (
            OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError,
        ) as error:  # fmt: skip
            raise SnapshotError("bad snapshot metadata") from error

    def _memory(self, tag: str) -> Any:
        try:
            head, _, memory = (self.folder / tag / "ram.bin").read_bytes().partition(b"\n")
            if head != _RAM_MAGIC + hashlib.sha256(memory).hexdigest().encode():
                raise ValueError("ram.bin does not have its digest")
            return json.loads(zlib.decompress(memory))
        except (OSError, ValueError, RecursionError, zlib.error) as error:
            raise SnapshotError("bad snapshot data") from error

    def _count_load(self, metadata: Metadata) -> None:
        raw = {**metadata.raw, "successful_loads": metadata.loads + 1}
        place = self.folder / metadata.tag
        # The load has happened: a full disk does not undo it.
        with contextlib.suppress(OSError):
            (place / "snapshot.pb.new").write_text(json.dumps(raw))
            (place / "snapshot.pb.new").replace(place / "snapshot.pb")


def recover_userdata(userdata: Path) -> None:
    """After a kill in the middle of a load: the old disk, or the new one, never none."""
    new, old = userdata.with_name(NEW), userdata.with_name(OLD)
    if old.exists() and not userdata.exists():
        old.rename(userdata)
    for left in (new, old):
        remove_tree(left)


def _moment(value: Any) -> float:
    """Seconds that a calendar can show; ValueError beyond."""
    seconds = float(value)
    if not 0 <= seconds < 1e11:
        raise ValueError(f"{value!r} is no time")
    return seconds


def listing(snapshots: list[Metadata]) -> str:
    """What `avd snapshot list` says, without its OK."""
    if not snapshots:
        return "There is no snapshot available.\r\n"
    row = "%-10s%-20s%7s%20s%15s\r\n"
    rows = [row % ("ID", "TAG", "VM SIZE", "DATE", "VM CLOCK")]
    for one in snapshots:
        date = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.saved_s))
        rows.append(row % ("--", one.tag, _size(one.size), date, _clock(one.vm_clock_s)))
    return "List of snapshots present on all disks:\r\n" + "".join(rows)


def _size(count: int) -> str:
    value = float(count)
    for unit in "BKMG":
        if value < 1024 or unit == "G":
            break
        value /= 1024
    return f"{value:.0f}{unit}" if unit != "B" else f"{count}"


def _clock(seconds: float) -> str:
    hours, rest = divmod(int(seconds * 1000), 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    return f"{hours:02d}:{minutes:02d}:{rest // 1000:02d}.{rest % 1000:03d}"
