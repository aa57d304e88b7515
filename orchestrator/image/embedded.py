"""The golden image of the embedded simulated phone, and the command that starts it."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..device.adb import adb_binary, adb_version
from ..events.canonical import digest
from ..events.notify import Notify
from ..files import source_sha256
from ..folders import cache_folder
from ..pins.image_lock import FILE as LOCK
from ..pins.image_lock import ImageLock, read_lock
from ..pins.profile import Profile
from ..pins.sdk_tools import adb_release
from .golden_bake import GoldenBaker
from .golden_cache import GoldenImage, GoldenRecipe, golden_image
from .simphone import simphone


def device_env() -> dict[str, str]:
    """The environment without the user's SDK, where the phone would look for its system image."""
    hidden = ("ANDROID_SDK_ROOT", "ANDROID_HOME")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def emulator(profile: Profile, noise: int | None) -> Callable[[int], list[str]]:
    """The command of each slot; with noise, every slot's phone has a seed of its own."""

    def command(slot: int) -> list[str]:
        return [simphone().program, *profile.emulator, *noise_options(noise, slot)]

    return command


def noise_options(noise: int | None, slot: int) -> list[str]:
    """The simulated phone's options for noise."""
    return [] if noise is None else ["-sim-noise", str(noise * 1000 + slot)]


def embedded_image(profile: Profile, notify: Notify) -> GoldenImage:
    """The image, baked once for this profile and simulated phone, then taken from the cache."""
    return golden_image(embedded_recipe(profile), cache_folder(), notify)


def cached_lock(profile: Profile) -> ImageLock:
    """The lock of an image that was baked before; BadLock where there is none."""
    return read_lock(cache_folder() / "golden" / embedded_recipe(profile).digest / LOCK)


def embedded_recipe(profile: Profile) -> GoldenRecipe:
    phone = simphone()
    baker = GoldenBaker(
        [phone.program, *profile.emulator], adb_binary(), device_env(), phone.system_image
    )
    # The lock names the adb of the bake, so another adb needs another image.
    program = digest([source_sha256(phone.folder), adb_release(adb_version())])
    return GoldenRecipe(profile, program, baker, phone.create_avd)
