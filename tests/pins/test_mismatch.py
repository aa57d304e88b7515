"""Each pin that differs between a device and its lock is reported with both values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.pins.mismatch import baked_pins, compared_pins, mismatches
from tests.pins.a_lock import LOCK as A_LOCK

CHATTER = "INFO    | Storing crashdata in: /tmp/emu-crash.db, detection is for process: {}\n"
VERSION = "INFO    | Android emulator version 35.6.11.0 (build_id 13610412) (CL:N/A)\n"
COPYRIGHT = "Copyright (C) 2006-2024 The Android Open Source Project and many others."
LOCK = replace(A_LOCK, emulator_version=CHATTER.format(7) + VERSION + COPYRIGHT)
SAME = baked_pins(LOCK)


def test_the_device_that_was_baked_has_no_mismatch() -> None:
    assert mismatches(LOCK, SAME) == []


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("fingerprint", "google/z", "fingerprint is google/z, baked was google/x/y:14"),
        ("snapshot", "dirty", "snapshot is dirty, baked was clean"),
        ("snapshot_sha256", "0", f"snapshot_sha256 is 0, baked was {'s' * 64}"),
        ("avd", "other", "avd is other, baked was emufarm"),
        ("adb_version", "Version 35", "adb_version is Version 35, baked was Android Debug"),
        ("emulator_version", "Android emulator version 36.1", "36.1, baked was Android emulator"),
        ("config_ini", "hw.cpu.arch=x86_64\nhw.ramSize=2\nhw.empty=", "config.ini hw.ramSize is 2"),
        ("fingerprint", None, "fingerprint was not reported, baked was google/x/y:14"),
    ],
)
def test_every_pin_counts_and_is_told_with_both_values(
    name: str, value: str | None, says: str
) -> None:
    (wrong,) = mismatches(LOCK, {**SAME, name: value})
    assert says in wrong


def test_what_tells_of_the_machine_is_no_pin() -> None:
    """adb's path and kernel, the emulator's process, the order of config.ini's lines."""
    found = {
        **SAME,
        "adb_version": "Android Debug Bridge version 1.0.41\nVersion 36.0.0\nInstalled as /b/adb\n"
        "Running on Linux 6",
        "emulator_version": VERSION + CHATTER.format(8) + COPYRIGHT,
        "config_ini": "hw.empty =\n\nhw.ramSize = 4096\nhw.cpu.arch=x86_64",
    }
    assert mismatches(LOCK, found) == []


def test_of_many_keys_that_differ_a_few_are_named() -> None:
    (*named, rest) = mismatches(LOCK, {"config_ini": "\n".join(f"k{n}=1" for n in range(9))})
    assert len(named) == 5
    assert "7 more keys" in rest


def test_who_is_not_there_is_not_asked() -> None:
    assert mismatches(LOCK, {}) == []
    told = compared_pins(LOCK, {"fingerprint": "google/z"})
    assert told["fingerprint"] == {"baked": "google/x/y:14", "found": "google/z"}
    assert told["avd"]["found"] == {"value": None, "why": "nobody could be asked"}


def test_what_the_lock_does_not_name_is_no_pin() -> None:
    assert mismatches(A_LOCK, {"emulator_version": "any"}) == []
