"""When a phone is ready, and what a load of its snapshot must show."""

from __future__ import annotations

import pytest

from orchestrator.device import Device, DeviceFault
from orchestrator.device.readiness import missing, wait_ready
from tests.device.fakes import FakeAdb, FakeConsole, answer, fail

FOCUSED = answer("  mCurrentFocus=Window{1 u0 com.x/com.x.Main}\n")
BOOT_ID = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.fixture
def booted(adb: FakeAdb) -> FakeAdb:
    """A phone on which every condition holds."""
    adb.shell("getprop sys.boot_completed", answer("1\n"))
    adb.shell("getprop init.svc.bootanim", answer("stopped\n"))
    adb.shell("pm path android", answer("package:/system/framework/framework-res.apk\n"))
    adb.shell("service check input", answer("Service input: found\n"))
    adb.shell("dumpsys window", FOCUSED)
    adb.shell("cat /proc/sys/kernel/random/boot_id", answer(f"{BOOT_ID}\n"))
    return adb


def no_pause(_: float) -> None:
    """The fakes answer at once."""


def test_a_booted_phone_misses_nothing(booted: FakeAdb, device: Device) -> None:
    assert missing(device.shell) == ()
    assert wait_ready(device.shell, 1).ready


@pytest.mark.parametrize(
    ("command", "script", "words"),
    [
        ("getprop sys.boot_completed", answer("\n"), "sys.boot_completed is ''"),
        ("getprop init.svc.bootanim", answer("running\n"), "init.svc.bootanim is 'running'"),
        (
            "pm path android",
            answer("", "cmd: Can't find service: package\n", 20),
            "Can't find service: package",
        ),
        ("service check input", answer("Service input: not found\n"), "input: not found"),
        ("dumpsys window", answer("  mCurrentFocus=null\n"), "no window has it"),
        (
            "dumpsys window",
            answer(
                "  mCurrentFocus=Window{1 u0 Application Not Responding: com.android.systemui}\n"
            ),
            "Not Responding: com.android.systemui",
        ),
        ("dumpsys window", answer("Can't find service: window\n"), "no mCurrentFocus"),
        ("dumpsys window", fail("device offline"), "device offline"),
    ],
)
def test_each_condition_is_missed_by_name(
    booted: FakeAdb, device: Device, command: str, script: bytes, words: str
) -> None:
    booted.shell(command, script)
    [text] = missing(device.shell)
    assert words in text
    readiness = wait_ready(device.shell, 0, pause=no_pause)
    assert not readiness.ready
    assert words in readiness.missing[0]


def test_readiness_waits_on_conditions(booted: FakeAdb, device: Device) -> None:
    booted.shell("getprop sys.boot_completed", fail("device offline"), answer("\n"), answer("1\n"))
    booted.shell("dumpsys window", answer("  mCurrentFocus=null\n"), FOCUSED)
    assert wait_ready(device.shell, 10, pause=no_pause).ready


class Loadable:
    """A fake phone whose console load really changes the transport and the sentinels."""

    def __init__(self, adb: FakeAdb, console: FakeConsole) -> None:
        self.adb, self.console = adb, console
        adb.shell("echo n0nce > /data/local/tmp/.emufarm-sentinel", answer())
        adb.shell("setprop debug.emufarm.sentinel n0nce", answer())
        adb.shell(
            "cat /data/local/tmp/.emufarm-sentinel; getprop debug.emufarm.sentinel",
            answer("n0nce\nn0nce\n"),
        )
        adb.shell("ls /data/local/tmp/.emufarm-sentinel", answer("", "No such file\n", 1))
        adb.shell("getprop debug.emufarm.sentinel", answer("\n"))
        console.replies["avd snapshot load clean"] = [b"OK\r\n"]
        console.replies["avd snapshot get"] = [b"clean\r\nOK\r\n"]
        console.replies["avd status"] = [b"virtual device is running\r\nOK\r\n"]

    def pause(self, _: float) -> None:
        """The new connection comes while the caller waits."""
        self.adb.transport = 2


@pytest.fixture
def loadable(booted: FakeAdb, fake_console: FakeConsole) -> Loadable:
    return Loadable(booted, fake_console)


def test_a_load_is_proven(loadable: Loadable, device: Device) -> None:
    proof = device.snapshots.load("clean", nonce="n0nce", pause=loadable.pause)
    assert (proof.old_transport, proof.new_transport) == (1, 2)
    assert proof.sentinels_gone is True
    assert proof.boot_id == BOOT_ID


def test_an_ok_without_a_new_connection_is_no_load(loadable: Loadable, device: Device) -> None:
    with pytest.raises(DeviceFault, match="still transport 1"):
        device.snapshots.load("clean", nonce="n0nce", seconds=0.1)


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("ls /data/local/tmp/.emufarm-sentinel", answer("/data/local/tmp/.emufarm-sentinel\n")),
        ("getprop debug.emufarm.sentinel", answer("n0nce\n")),
    ],
)
def test_a_sentinel_that_outlives_the_load_is_a_fault(
    loadable: Loadable, device: Device, command: str, script: bytes
) -> None:
    loadable.adb.shell(command, script)
    with pytest.raises(DeviceFault, match="sentinel outlived"):
        device.snapshots.load("clean", nonce="n0nce", pause=loadable.pause)


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        ("avd snapshot get", b"other\r\nOK\r\n"),
        ("avd snapshot get", b"(null)\r\nOK\r\n"),
        ("avd status", b"virtual device is stopped\r\nOK\r\n"),
        ("avd snapshot load clean", b"KO: Snapshot load failure: bad snapshot data\r\n"),
    ],
)
def test_a_console_that_tells_otherwise_is_a_fault(
    loadable: Loadable, device: Device, command: str, reply: bytes
) -> None:
    loadable.console.replies[command] = [reply]
    with pytest.raises(DeviceFault) as error:
        device.snapshots.load("clean", nonce="n0nce", pause=loadable.pause)
    assert error.value.reason == "snapshot_failed"


def test_a_lost_phone_may_be_loaded_without_sentinels(loadable: Loadable, device: Device) -> None:
    loadable.adb.transport = fail("device offline")
    proof = device.snapshots.load("clean", nonce="n0nce", pause=loadable.pause)
    assert proof.old_transport is None
    assert proof.sentinels_gone is None


def test_a_save_must_be_listed(adb: FakeAdb, fake_console: FakeConsole, device: Device) -> None:
    adb.shell("sync", answer())
    fake_console.replies["avd snapshot save x"] = [b"OK\r\n"]
    fake_console.replies["avd snapshot list"] = [b"There is no snapshot available.\r\nOK\r\n"]
    with pytest.raises(DeviceFault, match="not listed after its save"):
        device.snapshots.save("x")
