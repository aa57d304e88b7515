"""An image lock as a bake writes it."""

from __future__ import annotations

from orchestrator.pins.image_lock import ImageLock
from orchestrator.pins.system_image import SystemImage

LOCK = ImageLock(
    digest="d" * 64,
    profile="sim-api34",
    profile_digest="p" * 64,
    avd="emufarm",
    snapshot="clean",
    boot_id="b",
    nonce="0011",
    fingerprint="google/x/y:14",
    emulator_version=None,
    adb_version="Android Debug Bridge version 1.0.41\nVersion 36.0.0\nInstalled as /a/adb",
    system_image=SystemImage("/sdk/x86_64", "r" * 64, "q" * 64, 3, 3077),
    config_ini="hw.cpu.arch=x86_64\nhw.ramSize=4096\nhw.empty=\n",
    config_sha256="c" * 64,
    snapshot_sha256="s" * 64,
    baked_ts_ms=1,
)
