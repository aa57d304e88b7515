"""Tasks, back stacks, dialogs, the shade, the keyboard: what a person can do on any screen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from simphone.apps import APPS
from simphone.disk import Disk
from simphone.ui import touch
from simphone.ui.keyboard import keyboard
from simphone.ui.node import Node
from simphone.ui.screen import HOME, Intent, Screen
from simphone.world import World

SETTINGS = "com.android.settings"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(Disk(tmp_path / "userdata", tmp_path / "system"), APPS)
    world.settings.create()
    world.settings.put("global", "wifi_on", "1")
    world.windows.home()
    yield world
    world.databases.close()


def front(world: World) -> tuple[str, str]:
    found = world.windows.front()
    assert found is not None
    return found[0], found[1].activity


def tap(world: World, words: str) -> None:
    window = world.windows.focused()
    assert window is not None
    nodes = [n for n in window.root.walk() if words in (n.text, n.desc)]
    assert nodes, f"{words!r} is not on the screen"
    touch.tap(world, *nodes[0].bounds.centre)


def test_a_tap_on_an_icon_opens_its_app_and_home_leaves_it(world: World) -> None:
    tap(world, "Settings")
    assert front(world) == (SETTINGS, ".Settings")
    touch.key(world, 3)
    assert front(world)[0] == HOME


def test_back_walks_the_stack_down_to_home_and_stays_there(world: World) -> None:
    tap(world, "Settings")
    tap(world, "Display")
    for expected in (".Settings", ".Launcher", ".Launcher"):
        touch.key(world, 4)
        assert front(world)[1] == expected


def test_an_app_that_is_open_comes_back_where_it_was_left(world: World) -> None:
    tap(world, "Settings")
    tap(world, "Display")
    world.windows.home()
    tap(world, "Settings")
    assert front(world) == (SETTINGS, ".DisplaySettingsActivity")


def test_a_switch_that_is_tapped_changes_the_setting(world: World) -> None:
    world.windows.launch(Intent("android.settings.WIFI_SETTINGS"))
    tap(world, "Use Wi-Fi")
    assert world.settings.get("global", "wifi_on") == "0"


def test_what_lies_behind_a_dialog_cannot_be_tapped(world: World) -> None:
    world.windows.launch(Intent("android.settings.MANAGE_UNKNOWN_APP_SOURCES"))
    tap(world, "Allow from this source")
    focused = world.windows.focused()
    assert focused is not None
    assert not any(n.text == "Allow from this source" for n in focused.root.walk())
    tap(world, "Cancel")
    assert world.settings.get("secure", "install_non_market_apps") in (None, "0")


def test_a_tap_beside_a_dialog_closes_it_and_does_nothing_else(world: World) -> None:
    world.windows.launch(Intent("android.settings.MANAGE_UNKNOWN_APP_SOURCES"))
    tap(world, "Allow from this source")
    touch.tap(world, 540, 300)
    found = world.windows.front()
    assert found is not None
    assert found[1].dialog is None
    assert front(world) == (SETTINGS, ".UnknownSourcesActivity")


def test_a_swipe_from_the_top_opens_the_shade_and_back_closes_it(world: World) -> None:
    world.notifications.post(SETTINGS, "Update ready", "Restart to install")
    touch.swipe(world, (540, 5), (540, 1200), 300)
    assert world.windows.focus_name() == "NotificationShade"
    tap(world, "Dismiss")
    assert world.notifications.all() == []
    touch.key(world, 4)
    assert world.windows.focus_name() == f"{HOME}/{HOME}.Launcher"


def test_a_tapped_notification_opens_its_app_and_is_gone(world: World) -> None:
    world.notifications.post(SETTINGS, "Wi-Fi", "Choose", activity=".WifiSettingsActivity")
    world.windows.open_shade()
    tap(world, "Choose")
    assert world.notifications.all() == []
    assert front(world) == (SETTINGS, ".WifiSettingsActivity")


def test_the_keyboard_types_where_its_keys_are_drawn(world: World) -> None:
    tap(world, "Settings")
    tap(world, "Search settings")
    for letter in "wifi":
        press(world, letter)
    screen = world.windows.typing()
    assert screen is not None
    assert screen.fields["search"] == "wifi"


def press(world: World, face: str) -> None:
    """A key by its place in the picture; a dump does not show the keyboard."""
    board = keyboard(lambda _: None, symbols=False, shifted=False)
    cap: Node = next(node for node in board.walk() if node.desc == face)
    touch.tap(world, *cap.bounds.centre)


def test_text_without_a_focused_field_is_lost(world: World) -> None:
    tap(world, "Settings")
    touch.type_text(world, "hello")
    found = world.windows.front()
    assert found is not None
    assert found[1].fields == {}


def test_a_phone_that_sleeps_shows_nothing_and_takes_no_taps(world: World) -> None:
    touch.key(world, 26)
    assert world.windows.focus_name() == ""
    touch.tap(world, 540, 1200)
    touch.key(world, 224)
    assert front(world)[0] == HOME


def test_everything_in_front_survives_a_save_and_a_load(world: World) -> None:
    tap(world, "Settings")
    tap(world, "Search settings")
    touch.type_text(world, "wi")
    saved = json.loads(json.dumps(world.windows.save()))
    names = [window.name for window in world.windows.layers()]
    world.windows.home()
    world.windows.load(saved)
    assert [window.name for window in world.windows.layers()] == names
    assert world.windows.save() == saved


def test_an_unknown_intent_opens_nothing(world: World) -> None:
    assert world.windows.launch(Intent(package="com.absent")) is None
    assert world.windows.launch(Intent(package=SETTINGS, activity=".Absent")) is None
    assert front(world)[0] == HOME


def test_a_stopped_package_leaves_no_task_and_no_process(world: World) -> None:
    tap(world, "Settings")
    assert world.processes.find(SETTINGS) is not None
    world.windows.stop_package(SETTINGS)
    assert front(world)[0] == HOME
    assert world.processes.find(SETTINGS) is None


def test_a_deep_link_lands_on_top_of_the_running_task(world: World) -> None:
    tap(world, "Settings")
    world.windows.launch(Intent("android.settings.WIFI_SETTINGS"))
    assert front(world) == (SETTINGS, ".WifiSettingsActivity")
    world.windows.back()
    assert front(world) == (SETTINGS, ".Settings")


def test_a_screen_is_plain_data() -> None:
    assert Screen(**json.loads(json.dumps(vars(Screen(".Main"))))) == Screen(".Main")


def test_a_switch_of_settings_writes_the_values_its_setting_has(world: World) -> None:
    world.settings.put("secure", "ui_night_mode", "1")
    world.settings.put("secure", "location_mode", "3")
    tap(world, "Settings")
    for page, title, before, after in (
        ("Display", "Dark theme", "1", "2"),
        ("Security & privacy", "Use location", "3", "0"),
    ):
        name = {"Dark theme": "ui_night_mode", "Use location": "location_mode"}[title]
        tap(world, page)
        for expected in (after, before):
            tap(world, title)
            assert world.settings.get("secure", name) == expected
        touch.key(world, 4)


@pytest.mark.parametrize(("button", "left"), [("Close app", HOME), ("Wait", SETTINGS)])
def test_a_hung_app_is_closed_or_waited_for(world: World, button: str, left: str) -> None:
    tap(world, "Settings")
    world.windows.not_responding = SETTINGS
    window = world.windows.focused()
    assert window is not None
    assert window.name == f"Application Not Responding: {SETTINGS}"
    assert "Settings isn't responding" in [node.text for node in window.root.walk()]
    touch.key(world, 4)  # Back does not answer it
    tap(world, button)
    assert world.windows.not_responding == ""
    assert front(world)[0] == left
    assert (world.processes.find(SETTINGS) is None) == (button == "Close app")
