"""The embedded phone as an image: its golden AVD, and the command that starts a device of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import orchestrator.sim

from ..device.adb import adb_binary
from ..fleet.bake import Oven
from ..fleet.golden import GoldenImage, Recipe, cache_folder, golden_image
from ..pins.files import source_sha256, tree_sha256
from ..pins.profile import Profile
from ..sim.avd import EMBEDDED, Avd, create_avd

PROGRAM = (sys.executable, "-m", "orchestrator.sim")


def device_env() -> dict[str, str]:
    """Without the user's own SDK: the phone would look for its system image there."""
    hidden = ("ANDROID_SDK_ROOT", "ANDROID_HOME")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def emulator(profile: Profile, noise: int | None) -> Callable[[int], list[str]]:
    """The command for a slot; under noise every slot's phone is another one."""

    def command(slot: int) -> list[str]:
        restless = [] if noise is None else ["-sim-noise", str(noise * 1000 + slot)]
        return [*PROGRAM, *profile.emulator, *restless]

    return command


def embedded_image(profile: Profile, say: Callable[[str], None]) -> GoldenImage:
    """Baked once for this profile and this simulator, then taken from the cache."""
    folder = Path(orchestrator.sim.__file__).parent
    oven = Oven([*PROGRAM, *profile.emulator], adb_binary(), device_env())
    recipe = Recipe(profile, source_sha256(folder), oven, _create)
    return golden_image(recipe, cache_folder(), say)


def _create(home: Path, name: str, config: Mapping[str, str]) -> Avd:
    return create_avd(home, name, **{key.replace(".", "__"): v for key, v in config.items()})


def system_image_sha256() -> str:
    return tree_sha256(EMBEDDED)
