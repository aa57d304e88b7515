"""Writes what turns an unpacked SDK into a device image: hashes, settings and an empty AVD.

    compose.py SDK INTO          with the build's PROFILE_* arguments in the environment

INTO/system-image.json           both hashes of the system image, at its path in the image
INTO/sdk.json                    one hash over the whole SDK
INTO/device.json                 the settings of start.py
INTO/avd/NAME.ini, NAME.avd/     an AVD that was never started

The hashing code is the farm's own, copied beside this file. Standard library only.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from orchestrator.files import source_sha256
from orchestrator.pins.system_image import Unhashable, hash_system_image

AVD = "emufarm"
# The private copy of the AVD, at bake and at run: disk overlays store this path.
AVD_HOME = "/var/emu/avd"
# Folders without which the emulator does not accept an SDK.
EXPECTED = ("platforms", "platform-tools", "system-images")
PROGRAMS = ("emulator/emulator", "platform-tools/adb")


class Refused(Exception):
    """The build cannot go on; one sentence, as its last line."""


def compose(sdk: Path, into: Path, profile: Mapping[str, str]) -> None:
    package = profile["PROFILE_SYSTEM_IMAGE"]
    words = package.split(";")
    if len(words) != 4 or words[0] != "system-images":
        raise Refused(f"{package!r} is not system-images;PLATFORM;TAG;ABI")
    for name in EXPECTED:
        (sdk / name).mkdir(exist_ok=True)
    for name in PROGRAMS:
        if not os.access(sdk / name, os.X_OK):
            raise Refused(f"the SDK has no program {name}: is its zip the right one?")
    folder = "/".join(words)
    if not (sdk / folder / "build.prop").is_file():
        raise Refused(f"the SDK has no system image at {folder}: is its zip the right one?")
    try:
        hashed = hash_system_image(sdk / folder)
    except Unhashable as error:
        raise Refused(f"the system image cannot be hashed: {error}") from error
    into.mkdir(parents=True, exist_ok=True)
    _write(into / "system-image.json", asdict(hashed))
    _write(into / "sdk.json", {"path": str(sdk), "tree_sha256": source_sha256(sdk)})
    _write(
        into / "device.json",
        {
            "avd": AVD,
            "disk_mb": int(profile["PROFILE_DISK_MB"]),
            "emulator": json.loads(profile["PROFILE_EMULATOR"]),
            "kvm": profile["PROFILE_KVM"] == "yes",
            "snapshot": profile["PROFILE_SNAPSHOT"],
        },
    )
    _write_avd(into / "avd", words, json.loads(profile["PROFILE_AVD"]))


def _write_avd(home: Path, package: list[str], wanted: Mapping[str, str]) -> None:
    _, platform, tag, abi = package
    config = {
        "AvdId": AVD,
        "avd.ini.displayname": AVD,
        "avd.ini.encoding": "UTF-8",
        "abi.type": abi,
        "hw.cpu.arch": abi,
        "tag.id": tag,
        **wanted,
        "image.sysdir.1": "/".join(package) + "/",  # relative to the SDK
    }
    folder = home / f"{AVD}.avd"
    folder.mkdir(parents=True)
    _write_ini(folder / "config.ini", config)
    place = f"{AVD_HOME}/{AVD}.avd"
    ini = {"avd.ini.encoding": "UTF-8", "path": place, "target": platform}
    _write_ini(home / f"{AVD}.ini", ini)


def _write_ini(path: Path, values: Mapping[str, str]) -> None:
    for key, value in values.items():
        if "\n" in f"{key}{value}" or "=" in key:
            raise Refused(f"{key!r} cannot be written to {path.name}")
    path.write_text("".join(f"{key}={values[key]}\n" for key in sorted(values)), "utf-8")


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", "utf-8")


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: compose.py SDK INTO", file=sys.stderr)
        return 2
    try:
        compose(Path(arguments[0]), Path(arguments[1]), os.environ)
    except KeyError as error:
        print(f"compose: the build argument {error.args[0]} is missing", file=sys.stderr)
        return 1
    except (Refused, ValueError, OSError) as error:
        print(f"compose: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
