"""screencap, uiautomator and wm."""

from __future__ import annotations

import io
import struct
from xml.etree import ElementTree

from PIL import Image

from simphone import system
from simphone.faults.seam import Faults
from tests.programs.terminal import Terminal

DUMPED = "UI hierchary dumped to: "


async def test_the_screen_is_a_png_of_the_displays_size(terminal: Terminal) -> None:
    ran = await terminal.run("screencap -p")
    assert (ran.code, ran.err) == (0, "")
    picture = Image.open(io.BytesIO(ran.data))
    assert (picture.format, picture.size) == ("PNG", (1080, 2400))
    colours = picture.convert("RGB").getcolors(1 << 22)
    assert colours is not None
    assert len(colours) > 100


async def test_a_screen_that_changed_is_drawn_again(terminal: Terminal) -> None:
    before = (await terminal.run("screencap -p")).data
    assert (await terminal.run("screencap -p")).data == before
    await terminal.out("am start -n com.android.settings/.Settings")
    assert (await terminal.run("screencap -p")).data != before


async def test_a_file_name_decides_the_format(terminal: Terminal) -> None:
    assert await terminal.out("screencap /sdcard/a.png") == ""
    assert terminal.world.disk.read("/sdcard/a.png", 2000).startswith(b"\x89PNG\r\n\x1a\n")
    assert await terminal.out("screencap /sdcard/a.raw") == ""
    raw = terminal.world.disk.read("/sdcard/a.raw", 2000)
    assert struct.unpack("<4I", raw[:16]) == (1080, 2400, 1, 1)
    assert len(raw) == 16 + 1080 * 2400 * 4


async def test_a_file_that_cannot_be_made_is_an_error(terminal: Terminal) -> None:
    ran = await terminal.run("screencap -p /system/a.png")
    text = "Error opening file: /system/a.png (Read-only file system)\n"
    assert (ran.code, ran.err) == (1, text)
    assert (await terminal.run("screencap -z")).code == 1


async def test_faults_are_planted_at_the_picture_and_the_tree(terminal: Terminal) -> None:
    terminal.world.faults = Faults(
        {"screencap": lambda png: png[:10], "uiautomator.dump": lambda xml: "<x/>"}
    )
    assert len((await terminal.run("screencap -p")).data) == 10
    assert await terminal.out("uiautomator dump /dev/tty") == f"<x/>{DUMPED}/dev/tty\n"


async def test_the_tree_is_xml_and_then_the_tools_own_line(terminal: Terminal) -> None:
    out = await terminal.out("uiautomator dump /dev/tty")
    xml, _, path = out.rpartition(DUMPED)
    assert path == "/dev/tty\n"
    assert xml.endswith("</hierarchy>")
    tree = ElementTree.fromstring(xml)
    assert tree.attrib == {"rotation": "0"}
    assert any(node.get("text") == "Settings" for node in tree.iter("node"))


async def test_the_tree_goes_to_a_file(terminal: Terminal) -> None:
    assert await terminal.out("uiautomator dump") == f"{DUMPED}/sdcard/window_dump.xml\n"
    assert await terminal.out("uiautomator dump --compressed /sdcard/x.xml") == (
        f"{DUMPED}/sdcard/x.xml\n"
    )
    assert terminal.world.disk.read("/sdcard/x.xml", 2000).endswith(b"</hierarchy>")


async def test_a_page_that_never_rests_has_no_tree(terminal: Terminal) -> None:
    front = terminal.world.windows.front()
    assert front is not None
    front[1].args["animating"] = True
    ran = await terminal.run("uiautomator dump /dev/tty")
    assert (ran.data, ran.err) == (b"", "ERROR: could not get idle state.\n")
    assert (await terminal.run("screencap -p")).data.startswith(b"\x89PNG")


async def test_a_dark_screen_has_no_root(terminal: Terminal) -> None:
    terminal.world.windows.awake = False
    ran = await terminal.run("uiautomator dump /dev/tty")
    assert ran.err == "ERROR: null root node returned by UiTestAutomationBridge.\n"
    assert ran.data == b""


async def test_size_and_density_are_forced_and_reset(terminal: Terminal) -> None:
    assert await terminal.out("wm size") == "Physical size: 1080x2400\n"
    assert await terminal.out("wm density") == "Physical density: 420\n"
    assert await terminal.out("wm size 720x1280") == ""
    assert await terminal.out("wm size") == "Physical size: 1080x2400\nOverride size: 720x1280\n"
    assert await terminal.out("wm density 320") == ""
    assert await terminal.out("wm density") == "Physical density: 420\nOverride density: 320\n"
    await terminal.out("wm size reset")
    await terminal.out("wm density reset")
    assert await terminal.out("wm size") == "Physical size: 1080x2400\n"
    assert await terminal.out("wm density") == "Physical density: 420\n"


async def test_a_bad_size_or_density_changes_nothing(terminal: Terminal) -> None:
    for words in ("size big", "size 1x1", "size 9999999x2", "density x", "density 5"):
        assert (await terminal.run(f"wm {words}")).code == 255
    assert await terminal.out("wm size") == "Physical size: 1080x2400\n"


async def test_without_a_framework_the_screen_is_black_but_there(
    terminal: Terminal,
) -> None:
    system.stop_framework(terminal.world)
    picture = Image.open(io.BytesIO((await terminal.run("screencap -p")).data))
    assert picture.convert("L").getextrema() == (0, 0)
    assert "null root node" in (await terminal.run("uiautomator dump")).err
