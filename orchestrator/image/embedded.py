"""The golden image of the embedded simulated phone, baked once and then taken from the cache."""

from __future__ import annotations

from ..device.adb import adb_binary, adb_version
from ..events.canonical import digest
from ..events.notify import Notify
from ..files import source_sha256
from ..fleet.local.environment import device_env
from ..folders import cache_folder
from ..pins.image_lock import FILE as LOCK
from ..pins.image_lock import ImageLock, read_lock
from ..pins.profile import Profile
from ..pins.sdk_tools import adb_release
from .golden_bake import GoldenBaker
from .golden_cache import GoldenImage, GoldenRecipe, golden_image
from .simphone import simphone


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
