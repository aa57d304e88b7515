"""cmd, svc and ime."""

from __future__ import annotations

from dataclasses import replace

from simphone import system
from tests.programs.terminal import Terminal

LATIN = "com.android.inputmethod.latin/.LatinIME"


async def test_a_missing_service_is_exit_20(terminal: Terminal) -> None:
    ran = await terminal.run("cmd nope x")
    assert (ran.code, ran.err) == (20, "cmd: Can't find service: nope\n")
    assert (await terminal.run("cmd")).code == 20


async def test_a_service_that_is_not_up_yet_is_missing(terminal: Terminal) -> None:
    system.stop_framework(terminal.world)
    for line, name in (
        ("cmd notification list", "notification"),
        ("wm size", "window"),
        ("input tap 1 1", "input"),
        ("ime list", "input_method"),
    ):
        ran = await terminal.run(line)
        assert (ran.code, ran.err) == (20, f"cmd: Can't find service: {name}\n")


async def test_services_are_listed(terminal: Terminal) -> None:
    assert "  notification\n" in await terminal.out("cmd -l")


async def test_a_posted_notification_is_in_the_list_and_the_shade(terminal: Terminal) -> None:
    out = await terminal.out("cmd notification post -S bigtext -t 'A title' mytag 'Some text'")
    assert out.startswith("posting:\n  Notification(channel=shell_cmd ")
    key = "0|com.android.shell|2020|mytag|2000"
    assert await terminal.out("cmd notification list") == f"{key}\n"
    await terminal.out("cmd statusbar expand-notifications")
    dumped = await terminal.out("uiautomator dump /dev/tty")
    assert 'text="A title"' in dumped
    assert 'text="Some text"' in dumped
    await terminal.out("cmd statusbar collapse")
    assert "A title" not in await terminal.out("uiautomator dump /dev/tty")


async def test_posting_needs_a_tag_and_a_text(terminal: Terminal) -> None:
    assert (await terminal.run("cmd notification post onlytag")).code == 255
    assert (await terminal.run("cmd notification post -S odd t x")).code == 1


async def test_wifi_is_switched_and_told(terminal: Terminal) -> None:
    assert (await terminal.out("cmd wifi status")).startswith("Wifi is enabled\n")
    assert await terminal.out("cmd wifi set-wifi-enabled disabled") == ""
    assert (await terminal.out("cmd wifi status")).startswith("Wifi is disabled\n")
    assert terminal.world.settings.get("global", "wifi_on") == "0"


async def test_airplane_mode_and_bluetooth_are_settings(terminal: Terminal) -> None:
    assert await terminal.out("cmd connectivity airplane-mode") == "disabled\n"
    await terminal.out("cmd connectivity airplane-mode enable")
    assert await terminal.out("cmd connectivity airplane-mode") == "enabled\n"
    await terminal.out("cmd bluetooth_manager disable")
    assert await terminal.out("settings get global bluetooth_on") == "0\n"


async def test_location_is_a_switch(terminal: Terminal) -> None:
    for word in ("false", "true"):
        assert await terminal.out(f"cmd location set-location-enabled {word}") == ""
        assert await terminal.out("cmd location is-location-enabled") == f"{word}\n"
        assert f"Location Setting: {word}\n" in await terminal.out("dumpsys location")


async def test_an_apps_operation_is_told_by_what_differs_from_its_default(
    terminal: Terminal,
) -> None:
    app = "com.android.chrome"
    ask = f"cmd appops get {app} READ_CLIPBOARD"
    assert await terminal.out(ask) == "No operations.\nDefault mode: allow\n"
    await terminal.out(f"cmd appops set {app} READ_CLIPBOARD ignore")
    assert await terminal.out(ask) == "READ_CLIPBOARD: ignore\n"
    assert "READ_CLIPBOARD: ignore\n" in await terminal.out(f"appops get {app}")
    await terminal.out(f"cmd appops set {app} READ_CLIPBOARD allow")
    assert await terminal.out(ask) == "No operations.\nDefault mode: allow\n"


async def test_a_permission_that_was_not_given_is_its_operations_mode(terminal: Terminal) -> None:
    installed = terminal.world.packages
    package = replace(installed.all()[0], permissions=("android.permission.CAMERA",))
    installed.put(package)
    ask = f"cmd appops get {package.name} CAMERA"
    await terminal.out(f"pm revoke {package.name} android.permission.CAMERA")
    assert await terminal.out(ask) == "Uid mode: CAMERA: ignore\n"
    await terminal.out(f"pm grant {package.name} android.permission.CAMERA")
    assert await terminal.out(ask) == "No operations.\nDefault mode: allow\n"


async def test_an_unknown_app_operation_or_mode_is_an_error(terminal: Terminal) -> None:
    for line, text in (
        ("get com.none CAMERA", "Error: No UID for com.none in user 0\n"),
        ("get com.android.chrome FLY", "Error: Unknown operation string: FLY\n"),
        ("set com.android.chrome CAMERA maybe", "Error: Mode maybe is not valid,\n"),
    ):
        ran = await terminal.run(f"cmd appops {line}")
        assert (ran.code, ran.err) == (255, text)


async def test_settings_and_window_are_the_programs_of_their_own(terminal: Terminal) -> None:
    assert await terminal.out("cmd settings get global wifi_on") == "1\n"
    assert await terminal.out("cmd window size") == "Physical size: 1080x2400\n"


async def test_night_mode_is_set_and_told(terminal: Terminal) -> None:
    assert await terminal.out("cmd uimode night") == "Night mode: no\n"
    assert await terminal.out("cmd uimode night yes") == "Night mode: yes\n"


async def test_the_phone_stays_on_as_svc_says(terminal: Terminal) -> None:
    await terminal.out("svc power stayon true")
    assert await terminal.out("settings get global stay_on_while_plugged_in") == "7\n"


async def test_a_keyboard_that_is_not_installed_cannot_be_set(terminal: Terminal) -> None:
    assert await terminal.out("ime list -s") == f"{LATIN}\n"
    ran = await terminal.run("ime set com.x/.Ime")
    text = "Unknown input method com.x/.Ime cannot be selected for user #0\n"
    assert (ran.code, ran.err) == (255, text)
    assert await terminal.out(f"ime set {LATIN}") == f"Input method {LATIN} selected for user #0\n"
    enabled = await terminal.out(f"ime enable {LATIN}")
    assert enabled == f"Input method {LATIN}: already enabled for user #0\n"
