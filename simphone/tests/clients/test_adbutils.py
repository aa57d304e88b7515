"""adbutils, a client written by others, sees the same phone as adb does."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import adbutils
import pytest

from tests.apks import apk
from tests.clients.conftest import CLEAN, Phone

MEGABYTE = 1 << 20


@pytest.fixture
def theirs(phone: Phone) -> adbutils.AdbDevice:
    client = adbutils.AdbClient("127.0.0.1", phone.server.port)
    return client.device(phone.serial)


def test_it_is_listed_online(phone: Phone, theirs: adbutils.AdbDevice) -> None:
    client = adbutils.AdbClient("127.0.0.1", phone.server.port)
    assert [device.serial for device in client.device_list()] == [phone.serial]
    assert theirs.get_state() == "device"


@pytest.mark.parametrize(("script", "code"), [("true", 0), ("false", 1), ("nonsense", 127)])
def test_shell2_gives_the_exit_code(theirs: adbutils.AdbDevice, script: str, code: int) -> None:
    assert theirs.shell2(script, v2=True).returncode == code


def test_five_megabytes_come_through_shell_unchanged(theirs: adbutils.AdbDevice) -> None:
    data = os.urandom(5 * MEGABYTE)
    theirs.sync.push(data, "/data/local/tmp/random")
    assert theirs.shell("cat /data/local/tmp/random", encoding=None) == data


def test_push_and_pull_give_equal_bytes(theirs: adbutils.AdbDevice, tmp_path: Path) -> None:
    data = os.urandom(64 * MEGABYTE)
    (tmp_path / "there").write_bytes(data)
    theirs.sync.push(tmp_path / "there", "/sdcard/Download/large")
    theirs.sync.pull("/sdcard/Download/large", tmp_path / "back")
    digest = hashlib.sha256((tmp_path / "back").read_bytes()).digest()
    assert digest == hashlib.sha256(data).digest()
    assert theirs.sync.stat("/sdcard/Download/large").size == len(data)


def test_the_screenshot_is_the_phones_size(theirs: adbutils.AdbDevice) -> None:
    assert theirs.screenshot(error_ok=False).size == (1080, 2400)
    assert tuple(theirs.window_size()) == (1080, 2400)


def test_properties_apps_and_the_log_answer(theirs: adbutils.AdbDevice) -> None:
    assert theirs.getprop("ro.build.version.sdk") == "34"
    assert "com.android.settings" in theirs.list_packages()
    assert "beginning of" in theirs.shell("logcat -d")


def test_an_app_started_by_it_is_in_front(theirs: adbutils.AdbDevice) -> None:
    theirs.app_start("com.android.settings")
    assert theirs.app_current().package == "com.android.settings"


def test_reverse_is_set_and_listed(theirs: adbutils.AdbDevice) -> None:
    theirs.reverse("tcp:8765", "tcp:8766")
    assert any(item.remote == "tcp:8765" for item in theirs.reverse_list())


def test_twenty_shells_at_once_each_get_their_own_answer(theirs: adbutils.AdbDevice) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: theirs.shell(f"echo {n}; sleep 0.2"), range(20)))
    assert answers == [str(n) for n in range(20)]


def test_root_makes_it_root(phone: Phone, theirs: adbutils.AdbDevice) -> None:
    theirs.root()  # type: ignore[no-untyped-call]
    phone.out("wait-for-device")
    assert theirs.shell("id -u") == "0"


def test_an_apk_is_installed_listed_and_removed(theirs: adbutils.AdbDevice, tmp_path: Path) -> None:
    path = tmp_path / "app.apk"
    path.write_bytes(apk("com.example.theirs"))
    theirs.install(str(path), nolaunch=True, silent=True)
    assert "com.example.theirs" in theirs.list_packages()
    assert theirs.uninstall("com.example.theirs").strip() == "Success"
    assert "com.example.theirs" not in theirs.list_packages()


def test_it_is_waited_for_across_a_snapshot_load(phone: Phone, theirs: adbutils.AdbDevice) -> None:
    client = adbutils.AdbClient("127.0.0.1", phone.server.port)
    phone.load(CLEAN)
    client.wait_for(phone.serial, state="device", timeout=60)
    assert theirs.shell("echo back") == "back"
