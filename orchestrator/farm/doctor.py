"""Examines this machine: what a run would record of it, what is missing, and what to do.

The same facts as in run_manifest.json and env_capabilities.json, from the same functions. It looks
at this machine only: no network, no device, and every program it starts has a time-out.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..agent.confinement import confinement
from ..device.adb import adb_binary, adb_version
from ..errors import EmufarmError
from ..folders import cache_folder
from ..image.embedded import cached_lock
from ..pins.code_version import repo_facts
from ..pins.host import host_facts, unknown
from ..pins.image_lock import BadLock
from ..pins.profile import images_folder, load_profile, profile_names
from ..pins.run_manifest import fill_unknown
from ..pins.sdk_tools import TOOLS, sdk_facts
from ..settings import RunSettings

MB = 1 << 20
LEAST_DISK_MB = 500  # an image, a copy of it for each of eight phones, a small run
EASY_DISK_MB = 8000  # a hardware emulator does not start below 2 GiB, and each phone has its copy
EASY_MEMORY_KB = 2_000_000

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Advice:
    level: Literal["cannot run", "missing"]
    what: str
    do: str


def gather(runs: Path) -> dict[str, Any]:
    return {
        "host": host_facts(),
        "code": repo_facts(),
        "adb": {"path": _fact(lambda: str(adb_binary())), "version": _fact(adb_version)},
        "command_agents": confinement(("/bin/sh",)).as_json(),
        "sdk": sdk_facts(),
        "image": image_facts(),
        "profiles": profile_names(images_folder())
        or unknown(f"there are none in {images_folder()}"),
        "folders": {
            "runs": folder_facts(runs),
            "cache": _fact(lambda: folder_facts(cache_folder())),
            "temporary": folder_facts(Path(tempfile.gettempdir())),
        },
    }


def image_facts() -> Any:
    """Facts of the image that a run here would use, if an earlier run baked it."""
    try:
        lock = cached_lock(load_profile(RunSettings.profile))
    except BadLock:
        return unknown("it is not baked yet: the first run does it")
    except EmufarmError as error:
        return unknown(str(error))
    return fill_unknown(lock.as_json(), "the emulator did not report it")


def folder_facts(folder: Path) -> dict[str, Any]:
    """Facts of the nearest folder that exists: the rest would be made below it."""
    nearest = folder.absolute()
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    free = shutil.disk_usage(nearest).free // MB
    writable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    return {"path": str(folder.absolute()), "writable": writable, "free_mb": free}


def examine(facts: Facts) -> list[Advice]:
    """What is wrong or missing, the worst first. Pure."""
    found = [*_cannot_run(facts), *_host(facts["host"]), *_code(facts["code"]), *_sdk(facts["sdk"])]
    if not (agents := facts["command_agents"])["confined"]:
        do = "agents that are not yours belong into an image or behind a URL"
        found.append(Advice("missing", agents["why"], do))
    return sorted(found, key=lambda finding: finding.level != "cannot run")


def _cannot_run(facts: Facts) -> list[Advice]:
    found = []

    def refuse(what: str, do: str) -> None:
        found.append(Advice("cannot run", what, do))

    if why := why_unknown(facts["adb"]["version"]):
        refuse(f"adb does not answer: {why}", "reinstall the locked requirements: make clean smoke")
    if why := why_unknown(facts["profiles"]):
        refuse(f"no profile: {why}", "run from a checkout, or name a folder with EMUFARM_IMAGES")
    ways = {"runs": "--runs", "cache": "EMUFARM_CACHE", "temporary": "TMPDIR"}
    for name, folder in facts["folders"].items():
        if why := why_unknown(folder):
            refuse(f"no {name} folder: {why}", f"name one with {ways[name]}")
        elif not folder["writable"]:
            refuse(f"{folder['path']} cannot be written", f"name another with {ways[name]}")
        elif folder["free_mb"] < LEAST_DISK_MB:
            what = f"{folder['path']} has {folder['free_mb']} MB free of {LEAST_DISK_MB}"
            refuse(what, f"make room, or name another folder with {ways[name]}")
        elif folder["free_mb"] < EASY_DISK_MB:
            what = f"{folder['path']} has {folder['free_mb']} MB free"
            found.append(
                Advice("missing", what, f"enough here; real emulators want {EASY_DISK_MB} MB")
            )
    return found


def _host(host: Facts) -> list[Advice]:
    found = []
    if not host["kvm"]["usable"]:
        do = (
            "hardware emulators will not start; enable virtualization and load kvm, add this user "
            "to the group kvm, in a container pass --device /dev/kvm; the embedded phone needs none"
        )
        found.append(Advice("missing", f"KVM: {host['kvm']['why']}", do))
    memory = host["memory_kb"]
    if isinstance(memory, int) and memory < EASY_MEMORY_KB:
        do = "run few phones at once: --devices 1; an embedded one needs about 100 MB"
        found.append(Advice("missing", f"memory: {memory // 1024} MB in all", do))
    unknown_ones = [f"{name}: {why}" for name, fact in host.items() if (why := why_unknown(fact))]
    return found + [Advice("missing", what, "it is recorded as unknown") for what in unknown_ones]


def _code(code: Facts) -> list[Advice]:
    found = []
    if why := why_unknown(code["commit"]):
        do = "run from a git checkout: otherwise results do not name their code"
        found.append(Advice("missing", f"commit: {why}", do))
    elif code["dirty"]:
        do = "commit before a run that others should be able to repeat"
        found.append(Advice("missing", "files differ from the commit", do))
    for name, digest in code["lock_sha256"].items():
        if why := why_unknown(digest):
            found.append(Advice("missing", f"{name}: {why}", "run from a whole checkout"))
    return found


def _sdk(sdk: Facts) -> list[Advice]:
    """The embedded phone needs nothing of it, so its absence is one line."""
    silent = [why for name in TOOLS if (why := why_unknown(sdk[name]["version"]))]
    if not any("path" in sdk[name] for name in TOOLS):
        do = "name an SDK with ANDROID_SDK_ROOT for real emulators; the embedded phone needs none"
        return [Advice("missing", "no tool of an Android SDK", do)]
    do = "its version is recorded as unknown; the embedded phone does not need it"
    return [Advice("missing", what, do) for what in silent]


def why_unknown(fact: Any) -> str | None:
    """The reason, where a fact is unknown."""
    if isinstance(fact, Mapping) and fact.keys() == {"value", "why"}:
        return str(fact["why"])
    return None


def _fact(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except (EmufarmError, OSError) as error:
        return unknown(str(error))
