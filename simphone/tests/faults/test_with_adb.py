"""Every class that the phone outlives, as the real adb sees it, exactly as often as armed."""

from __future__ import annotations

import io
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import adbutils
import pytest
from PIL import Image

from tests.apks import apk
from tests.clients.conftest import CLEAN, until
from tests.faults.conftest import FailingPhone

Done = subprocess.CompletedProcess[bytes]
CALENDARS = "content query --uri content://com.android.calendar/calendars"
NULL_ROOT = b"ERROR: null root node returned by UiTestAutomationBridge.\n"
NOT_IDLE = b"ERROR: could not get idle state.\n"
GARBLED = b"protocol fault: stat response has wrong message id"
END = b"IEND\xaeB`\x82"


HERE = "HERE"  # a file of the test's: adb removes what it could not write whole


@dataclass(frozen=True)
class Look:
    """What is asked by adb, and how the answers of a sound and of a failing phone are known."""

    arming: str
    words: tuple[str, ...]
    sound: Callable[[Done], bool]
    broken: Callable[[Done], bool]


def shell(script: str) -> tuple[str, ...]:
    return "shell", script


def said(text: bytes, code: int = 0) -> Callable[[Done], bool]:
    return lambda done: text in done.stdout + done.stderr and done.returncode == code


def is_whole(done: Done) -> bool:
    return done.stdout.endswith(END) and len(set(pixels(done))) > 1


def pixels(done: Done) -> list[object]:
    picture = Image.open(io.BytesIO(done.stdout)).convert("RGB")
    assert picture.size == (1080, 2400)
    return [colour for _, colour in picture.getcolors(1 << 24) or []]


RAW_SIZE = 16 + 1080 * 2400 * 4


def is_raw(done: Done) -> bool:
    return len(done.stdout) == RAW_SIZE and done.returncode == 0


def is_black(done: Done) -> bool:
    return set(zip(*[iter(done.stdout[16:])] * 4, strict=True)) == {(0, 0, 0, 255)}


PICTURE = ("exec-out", "screencap -p")
DUMP = shell("uiautomator dump /dev/tty")
TREE = said(b"</hierarchy>UI hierchary dumped to: /dev/tty")
LOOKS = (
    Look("screencap-empty", PICTURE, is_whole, lambda d: (d.stdout, d.returncode) == (b"", 0)),
    Look("screencap-truncated", PICTURE, is_whole, lambda d: d.stdout.startswith(b"\x89PNG")
         and END not in d.stdout and d.returncode == 0),
    Look("screencap-black", PICTURE, is_whole, lambda d: d.stdout.endswith(END)
         and pixels(d) == [(0, 0, 0)] and d.returncode == 0),
    Look("screencap-black", ("exec-out", "screencap"), lambda d: is_raw(d) and not is_black(d),
         lambda d: is_raw(d) and is_black(d)),
    Look("ui-null-root", DUMP, TREE, said(NULL_ROOT)),
    Look("ui-never-idle", DUMP, TREE, said(NOT_IDLE)),
    Look("ui-dump-broken", DUMP, TREE, said(b"</node>UI hierchary dumped to: /dev/tty")),
    Look("service-missing", shell("input keyevent 0"), said(b""),
         said(b"cmd: Can't find service: input\n", 20)),
    Look("service-missing", shell("service check input"), said(b"Service input: found"),
         said(b"Service input: not found")),
    Look("service-missing service=package", shell("pm path android"), said(b"package:"),
         said(b"cmd: Can't find service: package\n", 20)),
    Look("service-missing service=activity", shell("cmd activity help"), said(b"", 255),
         said(b"cmd: Can't find service: activity\n", 20)),
    Look("service-missing service=power", shell("cmd power"),
         said(b"No shell command implementation."),
         said(b"cmd: Can't find service: power\n", 20)),
    Look("service-missing service=window", shell("dumpsys window"), said(b"mCurrentFocus="),
         said(b"Can't find service: window\n")),
    Look("exit-code-lost", shell("exit 3"), said(b"", 3), said(b"", 0)),
    Look("stdout-mangled", ("exec-out", "echo x"), lambda d: d.stdout == b"x\n",
         lambda d: d.stdout == b"x\r\n"),
    Look("settings-empty", shell("settings get global nothing"), lambda d: d.stdout == b"null\n",
         lambda d: d.stdout == b"\n"),
    Look("calendars-missing", shell(CALENDARS), said(b"Row: 0 "), said(b"No result found.")),
    Look("adb-closed", shell("echo x"), said(b"x\n"), said(b"error: closed\n", 1)),
    Look("adb-protocol-fault", ("pull", "/system/build.prop", HERE), said(b"1 file pulled"),
         lambda d: GARBLED in d.stderr and d.returncode != 0),
    Look("snapshot-missing", ("emu", f"avd snapshot load {CLEAN}"), said(b"OK"),
         said(b"KO: Snapshot load failure: snapshot doesn't exist")),
    Look("snapshot-corrupt", ("emu", f"avd snapshot load {CLEAN}"), said(b"OK"),
         said(b"KO: Snapshot load failure: bad snapshot data")),
    Look("console-ko", ("emu", "avd status"), said(b"running\r\nOK"),
         said(b"KO: internal error")),
    Look("console-ko", ("emu", f"avd snapshot load {CLEAN}"), said(b"OK"),
         said(b"KO: Error -22 while loading VM state")),
    Look("console-silent", ("emu", "avd status"), said(b"running\r\nOK"),
         lambda d: b"device" not in d.stdout),
    Look("console-ko-as-ok", ("emu", "avd snapshot load nothing"), said(b"doesn't exist"),
         lambda d: d.stdout.strip() == b"OK"),
)  # fmt: skip


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: f"{look.arming} {look.words[-1][:24]}")
def test_a_fault_is_seen_as_often_as_it_was_armed_and_then_all_is_well(
    phone: FailingPhone, look: Look, tmp_path: Path
) -> None:
    words = [str(tmp_path / "pulled") if word is HERE else word for word in look.words]
    phone.arm(f"{look.arming} after=1 times=2")
    for expected in (look.sound, look.broken, look.broken, look.sound):
        until(lambda: phone.state() == "device", "a phone that adb reaches")
        done = phone.adb(*words)
        assert expected(done), (look.arming, done)
    assert phone.counts() == [4, 2]
    assert " armed=no " in phone.row()


def test_a_dump_that_is_stale_shows_what_was_there_before(phone: FailingPhone) -> None:
    phone.arm("dump-stale times=2")
    before = phone.out(*DUMP)
    phone.sh("am start -a android.settings.SETTINGS")
    assert phone.out(*DUMP) == before
    assert phone.out(*DUMP) != before


def test_a_connection_is_cut_in_the_middle_of_a_stream(phone: FailingPhone) -> None:
    data = "x" * 60_000
    phone.sh(f"echo -n {data} > /data/local/tmp/f")
    before = phone.connection()
    phone.arm("adb-cut after=1")
    assert phone.adb("exec-out", "cat /data/local/tmp/f").stdout == data.encode()
    assert len(phone.adb("exec-out", "cat /data/local/tmp/f").stdout) < len(data)
    until(lambda: phone.connection() not in ("", before), "a new connection")
    assert phone.counts() == [2, 1]
    assert phone.adb("exec-out", "cat /data/local/tmp/f").stdout == data.encode()


def test_a_broken_connection_ends_the_command_and_is_made_anew(phone: FailingPhone) -> None:
    before = phone.connection()
    phone.arm("adb-broken")
    done = phone.adb("shell", "echo x")
    assert done.returncode == 1
    assert done.stderr == b"error: closed\n"
    until(lambda: phone.connection() not in ("", before), "a new connection")
    assert phone.sh("echo x") == "x"


@pytest.mark.parametrize(
    ("name", "state", "words"),
    [
        ("adb-offline", "offline", "device offline"),
        ("adb-unauthorized", "unauthorized", "device unauthorized."),
    ],
)
def test_a_phone_is_lost_to_adb_until_it_connects_anew(
    phone: FailingPhone, name: str, state: str, words: str
) -> None:
    phone.arm(f"{name} after=1")
    assert phone.sh("echo well") == "well"
    before = phone.connection()
    assert phone.adb("shell", "echo ill").stdout == b""
    until(lambda: phone.received(state, before), state)
    refused = phone.adb("shell", "echo ill")
    assert refused.returncode == 1
    assert words in refused.stderr.decode()
    assert phone.counts() == [2, 1]
    phone.out("reconnect", "offline")
    until(lambda: phone.state() == "device", "a phone that adb reaches")
    assert phone.sh("echo well") == "well"


@pytest.mark.parametrize("name", ["offline", "unauthorized"])
def test_a_phone_may_be_lost_as_it_is_loaded(phone: FailingPhone, name: str) -> None:
    before = phone.connection()
    phone.arm(f"adb-{name} at=adbd.accept")
    assert phone.out("emu", f"avd snapshot load {CLEAN}").strip() == "OK"
    until(lambda: phone.received(name, before), name)
    phone.out("reconnect", "offline")
    until(lambda: phone.state() == "device", "a phone that adb reaches")


def test_a_slow_command_has_not_begun_while_others_run(phone: FailingPhone) -> None:
    phone.arm("slow seconds=600 times=1")
    with subprocess.Popen(
        [adbutils.adb_path(), "shell", "echo > /sdcard/late"],
        env=phone.env,
        stdin=subprocess.DEVNULL,
    ) as slow:
        until(lambda: phone.counts()[1] == 1, "the slow command")
        assert phone.adb("shell", "ls /sdcard/late").returncode == 1
        assert slow.poll() is None
        slow.kill()
    phone.out("emu", "sim-fault clear")
    phone.arm("slow seconds=0")
    assert phone.sh("echo > /sdcard/late; ls /sdcard/late") == "/sdcard/late"


FRAMEWORK = "echo $(getprop sys.boot_completed) $(cat /proc/sys/kernel/random/boot_id)"


def test_system_server_goes_and_comes_while_the_boot_stays(phone: FailingPhone) -> None:
    before, count = phone.sh(FRAMEWORK), phone.sh("getprop sys.system_server.start_count")
    assert before.startswith("1 ")
    phone.arm("system-server-restarts seconds=600")
    assert phone.adb("shell", "pm path android").stderr == b"cmd: Can't find service: package\n"
    assert phone.sh("service check input") == "Service input: not found"
    assert phone.sh("pidof system_server; echo away") == "away"
    assert phone.sh(FRAMEWORK) == before
    phone.reset()
    phone.arm("system-server-restarts seconds=0.05")
    assert phone.sh(FRAMEWORK) == before
    phone.sound()
    assert phone.sh(FRAMEWORK) == before
    assert phone.sh("getprop sys.system_server.start_count") == str(int(count) + 1)


def test_an_anr_takes_the_focus_until_a_load(phone: FailingPhone) -> None:
    focus = "dumpsys window | grep mCurrentFocus"
    phone.arm("anr after=1")
    assert "Not Responding" not in phone.sh(focus)
    assert "Application Not Responding: com.android.systemui" in phone.sh(focus)
    assert "isn't responding" in phone.out(*DUMP).replace("&apos;", "'")
    phone.load(CLEAN)
    assert "Not Responding" not in phone.sh(focus)


def test_a_frozen_clock_stands_until_a_load(phone: FailingPhone) -> None:
    phone.arm("clock-frozen after=1")
    moving, first, second = (phone.sh("date +%s.%N") for _ in range(3))
    assert moving < first == second
    assert float(phone.sh("cat /proc/uptime").split()[0]) < float(
        phone.sh("sleep 0.02; cat /proc/uptime").split()[0]
    )
    phone.load(CLEAN)
    assert phone.sh("date +%s.%N") != phone.sh("date +%s.%N")


def test_a_clock_is_behind_after_a_load_until_the_next(phone: FailingPhone) -> None:
    phone.arm("clock-behind at=snapshot.loaded seconds=500000")
    phone.load(CLEAN)
    assert time.time() - 500_000 - 5 < float(phone.sh("date +%s")) < time.time() - 400_000
    phone.load(CLEAN)
    assert float(phone.sh("date +%s")) > time.time() - 400_000


def test_another_fingerprint_stays_until_a_load(phone: FailingPhone) -> None:
    fingerprint = "getprop ro.build.fingerprint"
    before = phone.sh(fingerprint)
    phone.arm("fingerprint-changed after=1")
    assert phone.sh(fingerprint) == before
    after = phone.sh(fingerprint)
    assert after != before
    assert re.fullmatch(r"google/sdk_gphone64_x86_64/emu64xa:14/\S+:userdebug/dev-keys", after)
    phone.load(CLEAN)
    assert phone.sh(fingerprint) == before


def test_a_full_disk_takes_nothing_until_a_load(phone: FailingPhone, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    push = ("push", str(tmp_path / "f"), "/sdcard/pushed")
    phone.arm("disk-full after=1")
    full = b"No space left on device"
    assert phone.adb("shell", "echo x > /sdcard/f").returncode == 0
    for script in ("echo x > /sdcard/g", "mkdir /sdcard/h", "cp /sdcard/f /sdcard/i"):
        done = phone.adb("shell", script)
        assert done.returncode == 1
        assert full in done.stdout + done.stderr, script
    assert full in phone.adb(*push).stderr + phone.adb(*push).stdout
    assert b"database or disk is full" in phone.adb("shell", "settings put global x y").stderr
    (tmp_path / "a.apk").write_bytes(apk("com.example.full"))
    refused = phone.adb("install", str(tmp_path / "a.apk"))
    assert b"INSTALL_FAILED_INSUFFICIENT_STORAGE" in refused.stdout + refused.stderr
    assert phone.sh("cat /sdcard/f; rm /sdcard/f") == "x"
    phone.load(CLEAN)
    phone.out(*push)
    assert phone.sh("settings put global x y; echo x > /sdcard/f; cat /sdcard/f") == "x"


def boot_id(phone: FailingPhone) -> str:
    return phone.adb("shell", "cat /proc/sys/kernel/random/boot_id").stdout.decode().strip()


def test_a_boot_that_hangs_is_never_completed_and_the_next_one_is(phone: FailingPhone) -> None:
    phone.arm("boot-hangs")
    before = boot_id(phone)
    phone.out("reboot")
    until(lambda: phone.counts()[1] == 1, "a boot that hangs")
    until(lambda: boot_id(phone) not in ("", before), "adb in the boot")
    until(lambda: "waiting for BOOT_COMPLETED" in phone.sh("logcat -d"), "the end of the boot")
    assert phone.sh("getprop sys.boot_completed") == ""
    assert phone.sh("getprop init.svc.bootanim") == "running"
    hung = boot_id(phone)
    phone.adb("reboot")
    until(lambda: boot_id(phone) not in ("", hung), "another boot")
    phone.sound()


def test_a_boot_that_loops_begins_anew_as_often_as_it_was_armed(phone: FailingPhone) -> None:
    phone.arm("boot-loops times=2")
    phone.out("reboot")
    until(lambda: phone.counts()[0] == 3, "two loops")
    phone.sound()
    assert phone.counts() == [3, 2]


def test_a_load_may_boot_cold_instead(phone: FailingPhone) -> None:
    before = boot_id(phone)
    phone.arm("snapshot-load-reboots")
    assert phone.out("emu", f"avd snapshot load {CLEAN}").strip() == "OK"
    assert phone.out("emu", "avd snapshot get").split() == [CLEAN, "OK"]
    until(lambda: boot_id(phone) not in ("", before), "a cold boot")
    phone.sound()
    phone.load(CLEAN)
    until(lambda: boot_id(phone) == before, "the saved boot")


def test_a_load_may_restore_nothing(phone: FailingPhone) -> None:
    phone.arm("snapshot-load-noop times=1")
    phone.sh("echo x > /sdcard/mark")
    phone.load(CLEAN)
    assert phone.sh("ls /sdcard/mark") == "/sdcard/mark"
    phone.load(CLEAN)
    assert phone.adb("shell", "ls /sdcard/mark").returncode == 1
