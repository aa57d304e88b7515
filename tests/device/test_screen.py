"""Screenshots are complete, and element trees may be absent."""

from __future__ import annotations

import io
import socket
import zlib

import pytest
from PIL import Image

from orchestrator.device.phone import Device
from orchestrator.device.screen import check_png
from orchestrator.device.uitree import Bounds, extract_xml, parse_tree
from tests.device.conftest import Hands
from tests.device.fakes import FakeAdb, answer, fail, hang, reason


def picture(colours: int = 2) -> bytes:
    image = Image.new("RGB", (40, 80))
    if colours > 1:
        image.putpixel((3, 4), (250, 1, 1))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


XML = (
    "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
    '<hierarchy rotation="0"><node index="0" text="" resource-id=""'
    ' class="android.widget.FrameLayout"'
    ' package="com.x" content-desc="" checkable="false" checked="false" clickable="false"'
    ' enabled="true" focusable="false" focused="false" scrollable="false" long-clickable="false"'
    ' password="false" selected="false" bounds="[0,0][1080,2400]">'
    '<node index="0" text="a &lt;b&gt; &#10;&amp; c" resource-id="com.x:id/ok"'
    ' class="android.widget.Button" package="com.x" content-desc="Send" checkable="false"'
    ' checked="false" clickable="true" enabled="true" focusable="true" focused="true"'
    ' scrollable="false" long-clickable="false" password="false" selected="false"'
    ' bounds="[10,20][30,60]" /></node></hierarchy>'
)
DUMPED = f"{XML}UI hierchary dumped to: /dev/tty\n"
DUMP = "uiautomator dump /dev/tty"
NO_IDLE = answer("", "ERROR: could not get idle state.\n", 1)
NULL_ROOT = answer("", "ERROR: null root node returned by UiTestAutomationBridge.\n", 0)


def test_a_whole_picture_has_its_size(adb: FakeAdb, device: Device) -> None:
    adb.shell("screencap -p", answer(picture(), "[Warning] Multiple displays were found\n"))
    shot = device.screen.capture()
    assert (shot.width, shot.height) == (40, 80)
    assert not shot.uniform()


def test_a_black_picture_can_be_told(adb: FakeAdb, device: Device) -> None:
    adb.shell("screencap -p", answer(picture(colours=1)))
    assert device.screen.capture().uniform()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Capturing failed.\n",
        picture()[:-1],
        picture()[:-12],
        picture()[: len(picture()) // 2],
        picture()[:8],
        picture() + b"x",
        picture().replace(b"\r\n", b"\n"),
        picture()[:60] + b"\0\0\0" + picture()[63:],
    ],
)
def test_a_picture_that_is_not_whole_is_a_fault_beside_exit_0(
    adb: FakeAdb, device: Device, data: bytes
) -> None:
    adb.shell("screencap -p", answer(data))
    assert reason(device.screen.capture) == "bad_screenshot"


def test_no_byte_may_be_missing() -> None:
    whole = picture()
    for cut in range(len(whole)):
        assert reason(lambda cut=cut: check_png(whole[:cut])) == "bad_screenshot"  # type: ignore[misc]


def chunk(kind: bytes, body: bytes) -> bytes:
    checksum = zlib.crc32(kind + body).to_bytes(4, "big")
    return len(body).to_bytes(4, "big") + kind + body + checksum


def test_a_picture_of_well_formed_nonsense_is_a_fault(adb: FakeAdb, device: Device) -> None:
    magic, end = picture()[:8], chunk(b"IEND", b"")
    assert reason(lambda: check_png(magic + chunk(b"IHDR", b"short") + end)) == "bad_screenshot"
    header = chunk(b"IHDR", bytes([0, 0, 0, 40, 0, 0, 0, 80, 8, 2, 0, 0, 0]))
    adb.shell("screencap -p", answer(magic + header + chunk(b"IDAT", b"not deflated") + end))
    assert reason(device.screen.capture().uniform) == "bad_screenshot"


def test_a_failed_screencap_is_a_fault(adb: FakeAdb, device: Device) -> None:
    adb.shell("screencap -p", answer("", "Failed to take screenshot\n", 1))
    assert reason(device.screen.capture) == "bad_screenshot"


def test_the_document_ends_before_uiautomators_own_words() -> None:
    assert extract_xml(DUMPED) == XML
    assert extract_xml("ERROR: could not get idle state.\n") is None
    assert extract_xml(DUMPED[:300]) is None
    assert extract_xml('<hierarchy rotation="0" />UI hierchary') == '<hierarchy rotation="0" />'


def test_elements_are_typed(adb: FakeAdb, device: Device) -> None:
    adb.shell(DUMP, answer(DUMPED))
    reading = device.screen.tree()
    assert reading.elements is not None
    frame, button = reading.elements
    assert (frame.depth, button.depth) == (0, 1)
    assert button.text == "a <b> \n& c"
    assert (button.description, button.resource_id) == ("Send", "com.x:id/ok")
    assert button.bounds == Bounds(10, 20, 30, 60)
    assert button.bounds.center == (20, 40)
    assert button.clickable
    assert not frame.clickable
    assert reading.warning is None


@pytest.mark.parametrize("script", [NO_IDLE, NULL_ROOT, answer(""), answer("Killed\n", "", 137)])
def test_no_tree_after_bounded_tries_is_a_warning(
    adb: FakeAdb, device: Device, script: bytes
) -> None:
    adb.shell(DUMP, script)
    reading = device.screen.tree(tries=3)
    assert reading.elements is None
    assert reading.xml is None
    assert reading.warning is not None
    assert adb.asked.count(f"shell,v2,raw:{DUMP}") == 3


def test_a_tree_that_comes_late_is_taken(adb: FakeAdb, device: Device) -> None:
    adb.shell(DUMP, NO_IDLE, answer(DUMPED))
    assert device.screen.tree().elements is not None


def test_a_dump_that_hangs_is_a_warning(adb: FakeAdb, device: Device) -> None:
    adb.shell(DUMP, hang)
    assert "timeout" in (device.screen.tree(tries=1, timeout=0.05).warning or "")


def test_the_time_is_for_all_tries_together(adb: FakeAdb, device: Device, hands: Hands) -> None:
    def slow(connection: socket.socket) -> None:
        hands.now += 20
        connection.sendall(NO_IDLE)
        hang(connection)

    adb.shell(DUMP, slow)
    assert device.screen.tree(tries=5, timeout=30).elements is None
    assert adb.asked.count(f"shell,v2,raw:{DUMP}") == 2


def test_a_lost_phone_is_a_fault_and_not_an_empty_screen(adb: FakeAdb, device: Device) -> None:
    adb.transport = fail("device offline")
    assert reason(device.screen.tree) == "device_offline"


def test_a_phone_without_a_terminal_dumps_through_a_file(adb: FakeAdb, device: Device) -> None:
    adb.shell(DUMP, answer("", "java.io.FileNotFoundException: /dev/tty: open failed: ENXIO", 1))
    path = "/data/local/tmp/emufarm-$$.xml"
    adb.shell(
        f"sh -c 'f={path}; uiautomator dump $f; cat $f; rm -f $f'",
        answer(f"UI hierchary dumped to: {path}\n{XML}"),
    )
    assert device.screen.tree().xml == XML


@pytest.mark.parametrize(
    "xml",
    [
        "<hierarchy><node></hierarchy>",
        "<hierarchy><node bounds='[0,0]'/></hierarchy>",
        "<!DOCTYPE x [<!ENTITY a 'b'>]><hierarchy></hierarchy>",
    ],
)
def test_what_is_not_a_hierarchy_is_no_tree(xml: str) -> None:
    assert reason(lambda: parse_tree(xml)) == "no_ui_tree"
