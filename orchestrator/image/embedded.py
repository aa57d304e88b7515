"""The embedded phone as an image: its golden AVD, and the command that starts a device of it."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..device.adb import adb_binary, adb_version
from ..events.canonical import digest
from ..events.notify import Notify
from ..pins.files import source_sha256
from ..pins.image_lock import FILE as LOCK
from ..pins.image_lock import ImageLock, read_lock
from ..pins.profile import Profile
from ..pins.sdk_tools import adb_release
from .golden_bake import GoldenBaker
from .golden_cache import GoldenImage, GoldenRecipe, cache_folder, golden_image
from .simphone import simphone


def device_env() -> dict[str, str]:
    """Without the user's own SDK: the phone would look for its system image there."""
    hidden = ("ANDROID_SDK_ROOT", "ANDROID_HOME")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def emulator(profile: Profile, noise: int | None) -> Callable[[int], list[str]]:
    """The command for a slot; under noise every slot's phone is another one."""

    def command(slot: int) -> list[str]:
        return [simphone().program, *profile.emulator, *restless(noise, slot)]

    return command


def restless(noise: int | None, slot: int) -> list[str]:
    """The simulator's own words for it."""
    return [] if noise is None else ["-sim-noise", str(noise * 1000 + slot)]


def embedded_image(profile: Profile, notify: Notify) -> GoldenImage:
    """Baked once for this profile and this simulator, then taken from the cache."""
    return golden_image(embedded_recipe(profile), cache_folder(), notify)


def cached_lock(profile: Profile) -> ImageLock:
    """Of the image, where it was baked before; BadLock where it was not."""
    return read_lock(cache_folder() / "golden" / embedded_recipe(profile).digest / LOCK)


def embedded_recipe(profile: Profile) -> GoldenRecipe:
    phone = simphone()
    baker = GoldenBaker(
        [phone.program, *profile.emulator], adb_binary(), device_env(), phone.system_image
    )
    # An image is pinned with the adb it was baked with: another adb's is another image.
    program = digest([source_sha256(phone.folder), adb_release(adb_version())])
    return GoldenRecipe(profile, program, baker, phone.create_avd)
