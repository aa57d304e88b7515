"""Which phone is meant: an AVD's files, and what is wrong with them in the emulator's words.

$ANDROID_AVD_HOME/<name>.ini           path=<folder>
<folder>/config.ini                    the hardware asked for, and the system image
<folder>/hardware-qemu.ini             the hardware of the last start
<folder>/userdata/                     the guest's /data and /tmp
<folder>/snapshots/<tag>/              snapshots.py
<folder>/boot_count                    how often this AVD was booted; makes boot ids differ
<folder>/multiinstance.lock, hardware-qemu.ini.lock    lock.py
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# The system image that a phone without an SDK runs.
EMBEDDED = Path(__file__).parent / "system_image"
NAME = re.compile(r"[A-Za-z0-9._-]+")

DEFAULTS: dict[str, str] = {
    "avd.ini.encoding": "UTF-8",
    "AvdId": "",
    "avd.ini.displayname": "",
    "PlayStore.enabled": "no",
    "abi.type": "x86_64",
    "disk.dataPartition.size": "6G",
    "fastboot.forceColdBoot": "no",
    "hw.cpu.arch": "x86_64",
    "hw.cpu.ncore": "4",
    "hw.gpu.enabled": "yes",
    "hw.gpu.mode": "swiftshader_indirect",
    "hw.initialOrientation": "portrait",
    "hw.keyboard": "yes",
    "hw.lcd.density": "420",
    "hw.lcd.height": "2400",
    "hw.lcd.width": "1080",
    "hw.mainKeys": "no",
    "hw.ramSize": "4096",
    "image.sysdir.1": "system-images/android-34/google_apis/x86_64/",
    "tag.id": "google_apis",
    "vm.heapSize": "576",
}
_NUMBERS = (
    "hw.ramSize", "hw.cpu.ncore", "hw.lcd.width", "hw.lcd.height", "hw.lcd.density", "vm.heapSize",
)  # fmt: skip
# What -cores takes.
_MOST = {"hw.cpu.ncore": 64}
# What a snapshot depends on; paths and the GPU's mode may change under it.
HARDWARE = (
    "hw.cpu.arch", "hw.cpu.ncore", "hw.ramSize", "hw.lcd.width", "hw.lcd.height",
    "hw.lcd.density", "hw.keyboard", "hw.mainKeys", "disk.dataPartition.size", "vm.heapSize",
)  # fmt: skip


class AvdError(Exception):
    """Why the phone cannot start, in one sentence that begins as the emulator's does."""


@dataclass(frozen=True)
class Avd:
    name: str
    folder: Path
    config: Mapping[str, str]
    system: Path  # the guest's /system

    @property
    def userdata(self) -> Path:
        return self.folder / "userdata"

    @property
    def snapshots(self) -> Path:
        return self.folder / "snapshots"

    def image(self) -> str:
        """A digest that changes with the system image."""
        return hashlib.sha256((self.system / "build.prop").read_bytes()).hexdigest()

    def hardware(self, memory_mb: int = 0, cores: int = 0) -> dict[str, str]:
        """What this start's snapshots are saved under, the command line's wishes included."""
        chosen = {key: self.config.get(key, DEFAULTS[key]) for key in HARDWARE}
        if memory_mb:
            chosen["hw.ramSize"] = str(memory_mb)
        if cores:
            chosen["hw.cpu.ncore"] = str(cores)
        return chosen


def avd_home(environ: Mapping[str, str]) -> Path:
    if home := environ.get("ANDROID_AVD_HOME"):
        return Path(home)
    if home := environ.get("ANDROID_EMULATOR_HOME"):
        return Path(home) / "avd"
    return Path(environ.get("HOME", "/")) / ".android" / "avd"


def list_avds(home: Path) -> list[str]:
    return sorted(ini.stem for ini in home.glob("*.ini"))


def parse_ini(text: str) -> dict[str, str]:
    """`key=value` lines; ValueError names the first line that is not one."""
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        key, equals, value = line.partition("=")
        if not equals or not key.strip() or "\0" in line:
            raise ValueError(f"line {number} is not 'key=value'")
        values[key.strip()] = value.strip()
    return values


def write_ini(path: Path, values: Mapping[str, str]) -> None:
    path.write_text("".join(f"{key}={values[key]}\n" for key in sorted(values)))


def _read_ini(path: Path, name: str) -> dict[str, str]:
    try:
        return parse_ini(path.read_text("utf-8"))
    except FileNotFoundError:
        raise AvdError(f"PANIC: Could not open: {path}") from None
    except (OSError, ValueError) as error:
        what = "it is not text" if isinstance(error, UnicodeDecodeError) else error
        raise AvdError(f"PANIC: Corrupt {path.name} of AVD [{name}]: {what}") from error


def _check(config: Mapping[str, str], name: str) -> None:
    for key in _NUMBERS:
        value = config.get(key, DEFAULTS[key]).removesuffix("M")
        most = _MOST.get(key, 10**6)
        if not re.fullmatch("[0-9]{1,9}", value) or not 0 < int(value) <= most:
            raise AvdError(
                f"PANIC: Corrupt config.ini of AVD [{name}]: {key} must be a number from 1 to "
                f"{most}, not '{value[:80]}'"
            )
    lcd = tuple(config.get(f"hw.lcd.{side}", DEFAULTS[f"hw.lcd.{side}"])
                for side in ("width", "height", "density"))  # fmt: skip
    if lcd != ("1080", "2400", "420"):
        raise AvdError(
            f"PANIC: AVD [{name}] asks for a screen of {'x'.join(lcd[:2])} at {lcd[2]} dpi; "
            "the simulated phone has 1080x2400 at 420"
        )


def _system(config: Mapping[str, str], environ: Mapping[str, str]) -> Path:
    sdk = environ.get("ANDROID_SDK_ROOT", "")
    if not sdk:
        return EMBEDDED
    image = Path(sdk) / config.get("image.sysdir.1", "")
    if not config.get("image.sysdir.1") or not (image / "build.prop").is_file():
        raise AvdError(f"PANIC: Broken AVD system path. Check your ANDROID_SDK_ROOT value [{sdk}]!")
    return image


def load_avd(name: str, environ: Mapping[str, str]) -> Avd:
    """AvdError where it is unknown, unreadable or impossible."""
    home = avd_home(environ)
    ini = home / f"{name}.ini"
    if not NAME.fullmatch(name) or not ini.is_file():
        raise AvdError(f"PANIC: Unknown AVD name [{name}], use -list-avds to see valid list.")
    folder = Path(_read_ini(ini, name).get("path") or home / f"{name}.avd")
    if not folder.is_dir():
        folder = home / f"{name}.avd"  # an AVD home that was moved: path.rel would say the same
    config = _read_ini(folder / "config.ini", name)
    _check(config, name)
    return Avd(name, folder.resolve(), config, _system(config, environ))


def create_avd(home: Path, name: str, **config: str) -> Avd:
    """A new AVD, written by hand as avdmanager would; config keys with `.` as `__`."""
    if not NAME.fullmatch(name):
        raise AvdError(f"an AVD's name is made of letters, digits, '.', '_' and '-', not '{name}'")
    folder = (home / f"{name}.avd").absolute()
    if folder.exists() or (home / f"{name}.ini").exists():
        raise AvdError(f"AVD '{name}' exists already in {home}")
    wanted = {key.replace("__", "."): value for key, value in config.items()}
    values = {**DEFAULTS, "AvdId": name, "avd.ini.displayname": name, **wanted}
    _check(values, name)
    (folder / "userdata").mkdir(parents=True)
    (folder / "snapshots").mkdir()
    write_ini(folder / "config.ini", values)
    write_ini(folder / "hardware-qemu.ini", {key: values[key] for key in HARDWARE})
    ini = {"avd.ini.encoding": "UTF-8", "path": str(folder), "path.rel": f"avd/{name}.avd",
           "target": "android-34"}  # fmt: skip
    write_ini(home / f"{name}.ini", ini)
    return Avd(name, folder, values, EMBEDDED)
