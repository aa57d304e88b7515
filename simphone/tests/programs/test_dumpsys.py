"""dumpsys and service."""

from __future__ import annotations

import re

import pytest

from simphone import system
from simphone.programs.dumpsys import DUMPS
from tests.programs.terminal import Terminal

RECORD = r"ActivityRecord\{[0-9a-f]+ u0 com\.android\.settings/\.Settings t\d+\}"


async def test_the_focus_is_told_by_window_and_activity(terminal: Terminal) -> None:
    await terminal.out("am start -n com.android.settings/.Settings")
    full = "com.android.settings/com.android.settings.Settings"
    for line in ("dumpsys window", "dumpsys window displays"):
        lines = (await terminal.out(line)).splitlines()
        focus = [each for each in lines if each.startswith("  mCurrentFocus=")]
        assert len(focus) == 1
        assert re.fullmatch(rf"  mCurrentFocus=Window\{{[0-9a-f]+ u0 {full}\}}", focus[0])
        assert any(re.fullmatch(rf"  mFocusedApp={RECORD}", each) for each in lines)


async def test_the_resumed_activity_is_told_as_android_14_does(terminal: Terminal) -> None:
    await terminal.out("am start -n com.android.settings/.Settings")
    lines = (await terminal.out("dumpsys activity activities")).splitlines()
    assert any(re.fullmatch(rf"  ResumedActivity: {RECORD}", each) for each in lines)
    assert any(re.fullmatch(rf"    topResumedActivity={RECORD}", each) for each in lines)
    assert "  ResumedActivity: " in await terminal.out("dumpsys activity")


async def test_no_window_is_null_and_a_hung_app_is_named(terminal: Terminal) -> None:
    terminal.world.windows.awake = False
    assert "  mCurrentFocus=null\n" in await terminal.out("dumpsys window")
    terminal.world.windows.awake = True
    terminal.world.windows.not_responding = "com.x"
    out = await terminal.out("dumpsys window")
    assert re.search(r"  mCurrentFocus=Window\{\w+ u0 Application Not Responding: com\.x\}\n", out)


async def test_the_keyguard_is_off(terminal: Terminal) -> None:
    assert "      showing=false\n" in await terminal.out("dumpsys window policy")


async def test_a_package_is_dumped_and_an_unknown_one_is_named(terminal: Terminal) -> None:
    out = await terminal.out("dumpsys package com.android.settings")
    assert "    versionName=14\n" in out
    assert "  Package [com.android.settings] (" in out
    assert await terminal.out("dumpsys package x.y") == "Unable to find package: x.y\n"


async def test_a_notification_shows_its_text_only_unredacted(terminal: Terminal) -> None:
    await terminal.out("cmd notification post -t Parcel t1 'Order 42, shipped'")
    redacted = await terminal.out("dumpsys notification")
    assert "android.title=String [length=6]\n" in redacted
    assert "Order 42" not in redacted
    whole = await terminal.out("dumpsys notification --noredact")
    assert "pkg=com.android.shell user=UserHandle{0} id=2020 tag=t1 " in whole
    assert "          android.title=String (Parcel)\n" in whole
    assert "          android.text=String (Order 42, shipped)\n" in whole


async def test_connectivity_follows_the_settings(terminal: Terminal) -> None:
    assert "Active default network: 100\n" in await terminal.out("dumpsys connectivity")
    assert "ni{WIFI CONNECTED" in await terminal.out("dumpsys connectivity")
    await terminal.out("svc wifi disable")
    assert "Active default network: 101\n" in await terminal.out("dumpsys connectivity")
    await terminal.out("svc data disable")
    assert "Active default network: none\n" in await terminal.out("dumpsys connectivity")
    assert (await terminal.out("dumpsys wifi")).startswith("Wi-Fi is disabled\n")


async def test_the_call_state_is_the_telephonys(terminal: Terminal) -> None:
    assert "    mCallState=0\n" in await terminal.out("dumpsys telephony.registry")
    terminal.world.telephony.ring("5551234")
    out = await terminal.out("dumpsys telephony.registry")
    assert "    mCallState=1\n" in out
    assert "    mCallIncomingNumber=5551234\n" in out


async def test_the_keyboard_is_shown_while_a_field_has_it(terminal: Terminal) -> None:
    assert "mInputShown=false\n" in await terminal.out("dumpsys input_method")
    await terminal.out("am start -n com.android.settings/.Settings")
    front = terminal.world.windows.front()
    assert front is not None
    front[1].focus = "search"
    out = await terminal.out("dumpsys input_method")
    assert "mInputShown=true\n" in out
    assert "  mCurMethodId=com.android.inputmethod.latin/.LatinIME\n" in out


async def test_battery_is_full_and_plugged_in(terminal: Terminal) -> None:
    out = await terminal.out("dumpsys battery")
    assert out.startswith("Current Battery Service state:\n  AC powered: true\n")
    assert "\n  level: 100\n" in out


@pytest.mark.parametrize("name", sorted(DUMPS))
async def test_every_dump_says_something_awake_asleep_and_with_odd_words(
    terminal: Terminal, name: str
) -> None:
    for awake in (True, False):
        terminal.world.windows.awake = awake
        assert await terminal.out(f"dumpsys {name}")
        assert (await terminal.run(f"dumpsys {name} --odd words")).code == 0


async def test_a_missing_service_is_named_with_exit_0(terminal: Terminal) -> None:
    ran = await terminal.run("dumpsys nope")
    assert (ran.code, ran.data, ran.err) == (0, b"", "Can't find service: nope\n")


async def test_services_are_listed_and_checked(terminal: Terminal) -> None:
    assert (await terminal.out("dumpsys -l")).startswith("Currently running services:\n  ")
    assert "  activity\n" in await terminal.out("dumpsys -l")
    assert await terminal.out("service check package") == "Service package: found\n"
    assert await terminal.out("service check nope") == "Service nope: not found\n"
    listed = (await terminal.out("service list")).splitlines()
    assert re.fullmatch(r"Found \d+ services:", listed[0])
    assert any(each.endswith("\tpackage: [android.content.pm.IPackageManager]") for each in listed)


async def test_a_service_call_answers_with_a_parcel(terminal: Terminal) -> None:
    assert (await terminal.out("service call activity 1")).startswith("Result: Parcel(")
    ran = await terminal.run("service call nope 1")
    assert (ran.code, ran.err) == (10, "service: Service nope does not exist\n")


async def test_without_a_framework_only_native_services_are_there(terminal: Terminal) -> None:
    system.stop_framework(terminal.world)
    assert (await terminal.run("dumpsys window")).err == "Can't find service: window\n"
    assert await terminal.out("service check package") == "Service package: not found\n"
    assert await terminal.out("service check SurfaceFlinger") == "Service SurfaceFlinger: found\n"
