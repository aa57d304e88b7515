"""am and monkey: starting, stopping and telling apps."""

from __future__ import annotations

import base64

import pytest

from simphone import system
from tests.programs.terminal import Terminal

SETTINGS = "com.android.settings/.Settings"


def focus(terminal: Terminal) -> str:
    return terminal.world.windows.focus_name()


async def test_a_start_says_what_it_starts(terminal: Terminal) -> None:
    out = await terminal.out(f"am start -n {SETTINGS}")
    assert out == "Starting: Intent { cmp=com.android.settings/.Settings }\n"
    assert focus(terminal) == "com.android.settings/com.android.settings.Settings"


async def test_a_start_that_waits_tells_how_it_went(terminal: Terminal) -> None:
    lines = (await terminal.out(f"am start -W -n {SETTINGS}")).splitlines()
    assert lines[:4] == [
        "Starting: Intent { cmp=com.android.settings/.Settings }",
        "Status: ok",
        "LaunchState: COLD",
        "Activity: com.android.settings/.Settings",
    ]
    assert lines[4].startswith("TotalTime: ")
    assert lines[5].startswith("WaitTime: ")
    assert lines[6:] == ["Complete"]


async def test_an_unknown_class_is_error_3_and_exit_0(terminal: Terminal) -> None:
    ran = await terminal.run("am start -n com.x/.Y")
    assert (ran.code, ran.out) == (0, "Starting: Intent { cmp=com.x/.Y }\n")
    assert ran.err == "Error type 3\nError: Activity class {com.x/com.x.Y} does not exist.\n"
    waiting = await terminal.run("am start -W -n com.x/.Y")
    assert waiting.out.endswith("Error: Activity class {com.x/com.x.Y} does not exist.\n")


async def test_an_intent_nobody_answers_is_spelled_out(terminal: Terminal) -> None:
    ran = await terminal.run("am start -a no.such -d https://h.example:8080/secret?q=1 --es k v")
    spelled = "Intent { act=no.such dat=https://h.example:8080/... (has extras) }"
    assert ran.out == f"Starting: {spelled}\n"
    assert ran.err == (
        "Error: Activity not started, unable to resolve "
        "Intent { act=no.such dat=https://h.example:8080/... flg=0x10000000 (has extras) }\n"
    )


@pytest.mark.parametrize(
    ("words", "spelled"),
    [
        ("-a A -d tel:555-1234", "act=A dat=tel:xxx-xxxx"),
        ("-a A -t text/plain -f 0x10000000", "act=A typ=text/plain flg=0x10000000"),
        ("-a A -p com.x", "act=A pkg=com.x"),
        ("com.x/com.x.Main", ("act=android.intent.action.MAIN "
         "cat=[android.intent.category.LAUNCHER] cmp=com.x/.Main")),
        ("-a A -d geo:0,0 --ei n 3 --ez b true", "act=A dat=geo: (has extras)"),
        ("-n com.x/other.Main", "cmp=com.x/other.Main"),
    ],
)  # fmt: skip
async def test_intents_are_spelled_as_android_does(
    terminal: Terminal, words: str, spelled: str
) -> None:
    ran = await terminal.run(f"am start {words}")
    assert ran.out == f"Starting: Intent {{ {spelled} }}\n"


async def test_starting_what_is_in_front_only_delivers(terminal: Terminal) -> None:
    await terminal.out(f"am start -n {SETTINGS}")
    ran = await terminal.run(f"am start -n {SETTINGS}")
    assert ran.err == (
        "Warning: Activity not started, intent has been delivered to currently running "
        "top-most instance.\n"
    )


async def test_starting_what_is_behind_brings_it_to_the_front(terminal: Terminal) -> None:
    await terminal.out(f"am start -n {SETTINGS}")
    await terminal.out("input keyevent HOME")
    ran = await terminal.run(f"am start -n {SETTINGS}")
    assert ran.err == (
        "Warning: Activity not started, its current task has been brought to the front\n"
    )
    assert focus(terminal).startswith("com.android.settings/")


async def test_a_settings_action_opens_its_screen(terminal: Terminal) -> None:
    await terminal.out("am start -a android.settings.WIFI_SETTINGS")
    assert focus(terminal) == "com.android.settings/com.android.settings.WifiSettingsActivity"


async def test_force_stop_ends_task_and_process(terminal: Terminal) -> None:
    await terminal.out(f"am start -n {SETTINGS}")
    assert terminal.world.processes.find("com.android.settings")
    assert await terminal.out("am force-stop com.android.settings") == ""
    assert terminal.world.processes.find("com.android.settings") is None
    assert focus(terminal).startswith("com.android.launcher3/")
    assert await terminal.out("am force-stop com.nope") == ""


async def test_start_with_stop_begins_anew(terminal: Terminal) -> None:
    await terminal.out("am start -a android.settings.WIFI_SETTINGS")
    out = await terminal.out(f"am start -S -W -n {SETTINGS}")
    assert out.startswith("Stopping: com.android.settings\nStarting: ")
    assert "LaunchState: COLD\n" in out


async def test_a_broadcast_completes_whether_or_not_anybody_listens(terminal: Terminal) -> None:
    assert await terminal.out("am broadcast -a no.such") == (
        "Broadcasting: Intent { act=no.such flg=0x400000 }\nBroadcast completed: result=0\n"
    )


async def test_the_typing_broadcasts_type_any_text(terminal: Terminal) -> None:
    await terminal.out(f"am start -n {SETTINGS}")
    front = terminal.world.windows.front()
    assert front is not None
    screen = front[1]
    screen.focus = "search"
    await terminal.out("am broadcast -a ADB_INPUT_TEXT --es msg 'Größe 你好'")
    assert screen.fields["search"] == "Größe 你好"
    await terminal.out("am broadcast -a ADB_CLEAR_TEXT")
    assert screen.fields["search"] == ""
    encoded = base64.b64encode("ñ!".encode()).decode()
    await terminal.out(f"am broadcast -a ADB_INPUT_B64 --es msg {encoded}")
    await terminal.out("am broadcast -a ADB_INPUT_CHARS --eia chars 128568,97")
    await terminal.out("am broadcast -a ADB_INPUT_B64 --es msg '*'")
    assert screen.fields["search"] == "ñ!\U0001f638a"


async def test_a_service_needs_its_package(terminal: Terminal) -> None:
    out = await terminal.out("am startservice -n com.android.phone/.X")
    assert out == "Starting service: Intent { cmp=com.android.phone/.X }\n"
    ran = await terminal.run("am startservice -n com.nope/.X")
    assert (ran.code, ran.err) == (255, "Error: Not found; no service started.\n")


async def test_bad_options_throw(terminal: Terminal) -> None:
    for line in ("am start --frob", "am start -n nothing", "am start --ei k x -a A", "am start -a"):
        ran = await terminal.run(line)
        assert ran.code == 255
        assert ran.err.startswith("\nException occurred while executing 'start':\njava.lang.")


async def test_monkey_opens_an_app_by_its_icon(terminal: Terminal) -> None:
    line = "monkey -p com.android.settings -c android.intent.category.LAUNCHER 1"
    assert "\nEvents injected: 1\n" in await terminal.out(line)
    assert focus(terminal).startswith("com.android.settings/")
    ran = await terminal.run("monkey -p com.nope -c android.intent.category.LAUNCHER 1")
    assert (ran.code, ran.err) == (252, "** No activities found to run, monkey aborted.\n")


async def test_monkey_throws_the_same_events_for_the_same_seed(terminal: Terminal) -> None:
    line = "monkey -p com.android.settings -s 7 -c android.intent.category.LAUNCHER 40"
    ends = []
    for _ in range(2):
        terminal.world.windows.stop_package("com.android.settings")
        terminal.world.windows.home()
        before = terminal.world.settings.items("global")
        assert "\nEvents injected: 40\n" in await terminal.out(line)
        ends.append(terminal.world.windows.save()["tasks"][-1]["screens"])
        for name, value in before:
            terminal.world.settings.put("global", name, value)
    assert ends[0] == ends[1]


async def test_there_is_one_user(terminal: Terminal) -> None:
    assert await terminal.out("am get-current-user") == "0\n"


async def test_without_a_framework_there_is_no_activity_service(terminal: Terminal) -> None:
    system.stop_framework(terminal.world)
    ran = await terminal.run(f"am start -n {SETTINGS}")
    assert (ran.code, ran.err) == (20, "cmd: Can't find service: activity\n")
