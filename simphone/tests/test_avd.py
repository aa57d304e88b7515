"""An AVD is found, checked and locked, or refused in one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simphone.avd import EMBEDDED, AvdError, avd_home, create_avd, list_avds, load_avd, parse_ini
from simphone.lock import AvdLock, InUse


def environ(home: Path, **more: str) -> dict[str, str]:
    return {"ANDROID_AVD_HOME": str(home), **more}


def test_an_avd_that_was_made_can_be_loaded(tmp_path: Path) -> None:
    create_avd(tmp_path, "phone", hw__ramSize="2048")
    avd = load_avd("phone", environ(tmp_path))
    assert avd.folder == (tmp_path / "phone.avd").resolve()
    assert avd.config["hw.ramSize"] == "2048"
    assert avd.config["image.sysdir.1"].endswith("/")
    assert avd.system == EMBEDDED
    assert list_avds(tmp_path) == ["phone"]


def test_the_home_of_avds_is_searched_in_the_emulators_order() -> None:
    everything = {"ANDROID_AVD_HOME": "/a", "ANDROID_EMULATOR_HOME": "/b", "HOME": "/c"}
    assert avd_home(everything) == Path("/a")
    del everything["ANDROID_AVD_HOME"]
    assert avd_home(everything) == Path("/b/avd")
    del everything["ANDROID_EMULATOR_HOME"]
    assert avd_home(everything) == Path("/c/.android/avd")


def test_the_command_line_outweighs_the_config(tmp_path: Path) -> None:
    avd = create_avd(tmp_path, "x")
    assert avd.hardware(memory_mb=2048, cores=2)["hw.ramSize"] == "2048"
    assert avd.hardware(memory_mb=2048, cores=2)["hw.cpu.ncore"] == "2"
    assert avd.hardware()["hw.ramSize"] == "4096"


@pytest.mark.parametrize("name", ["nope", "../x", "", "a/b", "x\0y"])
def test_an_unknown_avd_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(AvdError, match=r"PANIC: Unknown AVD name \[.*\], use -list-avds to see"):
        load_avd(name, environ(tmp_path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"hw.ramSize", "Corrupt config.ini of AVD [x]: line 1 is not 'key=value'"),
        (b"hw.ramSize=lots\n", "hw.ramSize must be a number from 1 to 1000000, not 'lots'"),
        (b"hw.ramSize=0\n", "hw.ramSize must be a number from 1 to 1000000, not '0'"),
        (b"hw.ramSize=" + b"0" * 5000 + b"1\n", "hw.ramSize must be a number from 1 to"),
        (b"hw.cpu.ncore=99999999\n", "hw.cpu.ncore must be a number from 1 to 64"),
        (b"\xff\xfe\x00", "Corrupt config.ini of AVD [x]: it is not text"),
        (b"\x00\x00\x00=1", "line 1 is not 'key=value'"),
        (b"hw.lcd.width=320\n", "a screen of 320x2400"),
    ],
)
def test_a_corrupt_config_is_one_sentence(tmp_path: Path, text: bytes, said: str) -> None:
    avd = create_avd(tmp_path, "x")
    (avd.folder / "config.ini").write_bytes(text)
    with pytest.raises(AvdError) as refused:
        load_avd("x", environ(tmp_path))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_config_is_named(tmp_path: Path) -> None:
    avd = create_avd(tmp_path, "x")
    (avd.folder / "config.ini").unlink()
    with pytest.raises(AvdError, match=r"PANIC: Could not open: .*config\.ini"):
        load_avd("x", environ(tmp_path))


def test_an_sdk_without_the_image_breaks_the_system_path(tmp_path: Path) -> None:
    create_avd(tmp_path, "x")
    sdk = tmp_path / "sdk"
    with pytest.raises(
        AvdError, match=r"PANIC: Broken AVD system path\. Check your ANDROID_SDK_ROOT"
    ):
        load_avd("x", environ(tmp_path, ANDROID_SDK_ROOT=str(sdk)))


def test_an_sdk_with_the_image_is_where_the_system_is(tmp_path: Path) -> None:
    create_avd(tmp_path, "x")
    image = tmp_path / "sdk/system-images/android-34/google_apis/x86_64"
    image.mkdir(parents=True)
    (image / "build.prop").write_text("ro.build.version.sdk=34\n")
    avd = load_avd("x", environ(tmp_path, ANDROID_SDK_ROOT=str(tmp_path / "sdk")))
    assert avd.system == image


def test_an_avd_home_that_was_copied_elsewhere_still_works(tmp_path: Path) -> None:
    create_avd(tmp_path / "a", "x")
    (tmp_path / "a").rename(tmp_path / "b")
    assert load_avd("x", environ(tmp_path / "b")).folder == (tmp_path / "b/x.avd").resolve()


def test_two_avds_of_one_name_cannot_be_made(tmp_path: Path) -> None:
    create_avd(tmp_path, "x")
    with pytest.raises(AvdError, match="exists already"):
        create_avd(tmp_path, "x")


def test_an_avd_is_locked_once_and_the_lock_names_the_process(tmp_path: Path) -> None:
    lock = AvdLock(tmp_path)
    assert (tmp_path / "multiinstance.lock").read_text() == str(os.getpid())
    assert (tmp_path / "hardware-qemu.ini.lock").read_text() == str(os.getpid())
    with pytest.raises(InUse):
        AvdLock(tmp_path)
    lock.release()
    assert not (tmp_path / "hardware-qemu.ini.lock").exists()
    AvdLock(tmp_path).release()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    for name in ("multiinstance.lock", "hardware-qemu.ini.lock"):
        (tmp_path / name).write_text("4194304")
    lock = AvdLock(tmp_path)
    assert (tmp_path / "hardware-qemu.ini.lock").read_text() == str(os.getpid())
    lock.release()


@given(st.text())
def test_any_text_is_an_ini_or_refused(text: str) -> None:
    said = "is not 'key=value'"
    try:
        parse_ini(text)
    except ValueError as refused:
        said = str(refused)
    assert "is not 'key=value'" in said
