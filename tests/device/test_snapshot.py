"""What loading a snapshot must prove, against a scripted phone."""

from __future__ import annotations

import json
import socket
from dataclasses import asdict

import pytest

from orchestrator.device.faults import DeviceFault
from orchestrator.device.phone import Device
from tests.device.conftest import BOOT_ID, Hands
from tests.device.fakes import FakeAdb, FakeConsole, answer, fail, hang
from tests.device.test_screen import picture

FILE = "/data/local/tmp/.emufarm-sentinel"
PROPERTY = "debug.emufarm.sentinel"
MARKER = "/data/local/tmp/emufarm-marker.json"
PLANT = (
    f"echo n0nce > {FILE}; setprop {PROPERTY} n0nce;"
    f" echo file=$(cat {FILE}); echo property=$(getprop {PROPERTY})"
)
GONE = answer(code=1)
WHOLE_S = 60.0  # that a load may take


class Loadable:
    """A fake phone whose console load really changes the transport and the sentinels."""

    def __init__(self, adb: FakeAdb, console: FakeConsole) -> None:
        self.adb, self.console = adb, console
        adb.shell(PLANT, answer("file=n0nce\nproperty=n0nce\n"))
        adb.shell(f"test -e {FILE}", GONE)
        adb.shell(f"getprop {PROPERTY}", answer("\n"))
        adb.shell("getprop ro.build.fingerprint", answer("google/x/y:14/Z/1:userdebug/dev-keys\n"))
        adb.shell("date +%s.%N", answer("1788280004.066000000\n"))
        adb.shell("screencap -p", answer(picture()))
        adb.shell(f"test -e {MARKER}", answer())
        adb.shell(f"cat {MARKER}", answer('{"tag": "clean"}\n'))
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
    proof = device.snapshots.load("clean", marker=MARKER, nonce="n0nce", pause=loadable.pause)
    assert (proof.tag, proof.command, proof.reply) == ("clean", "avd snapshot load clean", "OK")
    assert (proof.old_transport, proof.new_transport) == (1, 2)
    assert (proof.file_gone, proof.property_gone) == (True, True)
    assert proof.boot_id == BOOT_ID
    assert proof.fingerprint == "google/x/y:14/Z/1:userdebug/dev-keys"
    assert proof.marker == '{"tag": "clean"}\n'
    assert (proof.frame.width, proof.frame.height, proof.frame.uniform) == (40, 80, False)
    assert proof.clock_before is not None
    assert proof.clock_after.seconds != 0
    names = ["plant", "console", "transport", "framework", "sentinels", "frame", "identity"]
    assert list(proof.steps) == names
    assert json.loads(json.dumps(asdict(proof)))["reply"] == "OK"


def test_a_marker_is_none_where_it_is_not_there_or_not_asked_for(
    loadable: Loadable, device: Device
) -> None:
    assert device.snapshots.load("clean", nonce="n0nce", pause=loadable.pause).marker is None
    loadable.adb.shell(f"test -e {MARKER}", GONE)
    loadable.adb.transport = 1
    proof = device.snapshots.load("clean", marker=MARKER, nonce="n0nce", pause=loadable.pause)
    assert proof.marker is None


def test_an_ok_without_a_new_connection_is_no_load(
    loadable: Loadable, device: Device, hands: Hands
) -> None:
    with pytest.raises(DeviceFault, match="in 60 s: still transport 1") as error:
        load_in_vain(device, hands)
    assert error.value.reason == "snapshot_failed"


def test_a_phone_that_hung_before_must_have_a_new_connection_too(
    loadable: Loadable, device: Device, hands: Hands
) -> None:
    """Its old connection is known although its shell says nothing."""
    loadable.adb.shell(PLANT, fail("closed"))
    with pytest.raises(DeviceFault, match="in 60 s: still transport 1"):
        load_in_vain(device, hands)


def load_in_vain(device: Device, hands: Hands) -> None:
    """No new connection comes, however often it is asked for, and then the time is up."""
    pauses = iter([0.0, 0.0, WHOLE_S])

    def pause(_: float) -> None:
        hands.now += next(pauses)

    device.snapshots.load("clean", nonce="n0nce", seconds=WHOLE_S, pause=pause)


@pytest.mark.parametrize(
    "scripts",
    [
        {f"test -e {FILE}": answer(), f"cat {FILE}": answer("n0nce\n")},
        {f"getprop {PROPERTY}": answer("n0nce\n")},
    ],
)
def test_a_sentinel_that_outlives_the_load_is_a_fault(
    loadable: Loadable, device: Device, scripts: dict[str, bytes]
) -> None:
    for command, script in scripts.items():
        loadable.adb.shell(command, script)
    with pytest.raises(DeviceFault, match="sentinel outlived"):
        device.snapshots.load("clean", nonce="n0nce", pause=loadable.pause)


def test_a_sentinel_of_an_earlier_load_may_be_in_the_snapshot(
    loadable: Loadable, device: Device
) -> None:
    loadable.adb.shell(f"test -e {FILE}", answer())
    loadable.adb.shell(f"cat {FILE}", answer("another\n"))
    loadable.adb.shell(f"getprop {PROPERTY}", answer("another\n"))
    proof = device.snapshots.load("clean", nonce="n0nce", pause=loadable.pause)
    assert (proof.file_gone, proof.property_gone) == (True, True)


def test_a_sentinel_is_gone_only_by_a_clean_no(loadable: Loadable, device: Device) -> None:
    loadable.adb.shell(f"test -e {FILE}", answer("", "test: Permission denied\n", 1))
    with pytest.raises(DeviceFault, match="Permission denied"):
        device.snapshots.load("clean", nonce="n0nce", pause=loadable.pause)


def test_each_sentinel_speaks_for_itself(loadable: Loadable, device: Device) -> None:
    """A full disk takes no file, though it takes a property."""
    loadable.adb.shell(PLANT, answer("file=\nproperty=n0nce\n", "No space left on device\n"))
    proof = device.snapshots.load("clean", nonce="n0nce", pause=loadable.pause)
    assert (proof.file_gone, proof.property_gone) == (None, True)


def test_a_frame_is_waited_for(loadable: Loadable, device: Device) -> None:
    """Right after a load the display may give nothing, or black."""
    black, nothing = answer(picture(colours=1)), answer("")
    loadable.adb.shell("screencap -p", nothing, black, answer(picture()))
    proof = device.snapshots.load("clean", nonce="n0nce", pause=loadable.pause)
    assert not proof.frame.uniform


def test_a_display_that_stays_black_is_told(
    loadable: Loadable, device: Device, hands: Hands
) -> None:
    loadable.adb.shell("screencap -p", answer(picture(colours=1)))

    def pause(seconds: float) -> None:
        hands.now += 3  # of the 10 s that a picture has
        loadable.pause(seconds)

    proof = device.snapshots.load("clean", nonce="n0nce", seconds=WHOLE_S, pause=pause)
    assert proof.frame.uniform
    assert loadable.adb.asked.count("shell,v2,raw:screencap -p") == 5


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
    assert (proof.file_gone, proof.property_gone, proof.clock_before) == (None, None, None)


def test_a_phone_that_is_not_ready_in_time_is_a_fault(
    loadable: Loadable, device: Device, hands: Hands
) -> None:
    """The new connection comes in the last second; that and more goes by without an answer."""

    def late(seconds: float) -> None:
        hands.now = WHOLE_S - 0.5
        loadable.pause(seconds)

    def silent(connection: socket.socket) -> None:
        hands.now = max(hands.now, WHOLE_S) + 1
        hang(connection)

    loadable.adb.shell("dumpsys window", silent)
    with pytest.raises(DeviceFault, match=r"60 s after the load of clean: .*focus") as error:
        device.snapshots.load("clean", nonce="n0nce", seconds=WHOLE_S, pause=late)
    assert error.value.reason == "not_ready"


def test_a_save_must_be_listed(adb: FakeAdb, fake_console: FakeConsole, device: Device) -> None:
    adb.shell("sync", answer())
    fake_console.replies["avd snapshot save x"] = [b"OK\r\n"]
    fake_console.replies["avd snapshot list"] = [b"There is no snapshot available.\r\nOK\r\n"]
    with pytest.raises(DeviceFault, match="not listed after its save"):
        device.snapshots.save("x")


def test_a_nonce_is_a_plain_word(device: Device) -> None:
    with pytest.raises(ValueError, match="not a nonce"):
        device.snapshots.load("clean", nonce="a; reboot")
