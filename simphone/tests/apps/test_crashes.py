"""Root may break what an app stands on: the app dies of it as on Android, and the phone goes on."""

from __future__ import annotations

import pytest

from simphone.apps import notes_store
from simphone.providers import calendar, calllog, contacts, downloads, sms
from simphone.services import settings
from simphone.services.telephony import RINGING
from simphone.ui.screen import Intent
from simphone.world import World
from tests.apps.person import Person

MESSAGES = "com.android.messaging"
DATABASES = (sms, contacts, calllog, calendar, downloads, notes_store, settings)


def drop_every_table(world: World, path: str) -> None:
    connection = world.databases.connect(path)
    kinds = [
        (row["type"], row["name"])
        for row in connection.execute("SELECT type, name FROM sqlite_schema ORDER BY type DESC")
        if row["type"] in ("view", "table", "trigger") and not row["name"].startswith("sqlite_")
    ]
    for kind, name in kinds:
        connection.execute(f'DROP {kind} IF EXISTS "{name}"')


def fatal(world: World) -> list[str]:
    return [line.text for line in world.logcat.lines() if line.text.startswith("FATAL EXCEPTION")]


async def test_an_app_that_cannot_draw_itself_keeps_stopping(world: World, person: Person) -> None:
    drop_every_table(world, sms.PATH)
    person.open("Messages")
    assert person.sees("Messages keeps stopping")
    assert person.activity() == f"Application Error: {MESSAGES}"
    assert world.processes.find(MESSAGES) is None
    [text] = fatal(world)
    assert f"Process: {MESSAGES}, PID: " in text
    assert "SQLiteException: no such table" in text
    person.tap("Close app")
    assert person.activity().endswith("Launcher")
    person.open("Settings")
    assert person.sees("Network & internet")


@pytest.mark.parametrize("leave", [Person.back, Person.home])
async def test_the_error_goes_away_with_back_and_with_home(
    world: World, person: Person, leave: object
) -> None:
    drop_every_table(world, sms.PATH)
    person.open("Messages")
    assert callable(leave)
    leave(person)
    assert person.activity().endswith("Launcher")


async def test_an_app_that_fails_at_a_touch_leaves_what_was_below_it(
    world: World, person: Person
) -> None:
    person.open("Calendar")
    person.tap("New event")
    person.fill("Title", "Lunch")
    person.back()
    drop_every_table(world, calendar.PATH)
    person.tap("Save")
    assert person.sees("Calendar keeps stopping")
    assert world.windows.tasks[-1].package == "com.android.launcher3"


async def test_words_where_a_number_belongs_end_the_app_alone(world: World, person: Person) -> None:
    calendar.add_event(world, "Lunch", 1000)
    world.databases.execute(calendar.PATH, "UPDATE Events SET dtstart = 'noon'")
    person.open("Calendar")
    assert person.sees("Calendar keeps stopping")
    assert "RuntimeException" in fatal(world)[0]


@pytest.mark.parametrize("label", ["Phone", "Messages", "Contacts", "Calendar", "Browser", "Files",
                                   "Notes", "Settings"])  # fmt: skip
async def test_no_app_takes_the_phone_with_it_when_every_table_is_gone(
    world: World, person: Person, label: str
) -> None:
    for family in DATABASES:
        drop_every_table(world, family.PATH)
    person.open(label)
    person.words()
    person.pull_shade()
    assert person.sees("Airplane mode")
    world.telephony.receive_sms("5550123", "hello")
    world.windows.launch(
        Intent("android.intent.action.VIEW", "content://com.android.contacts/contacts/1")
    )
    person.home()
    assert person.activity().endswith("Launcher")


async def test_a_namespace_of_settings_that_was_dropped_is_there_again_and_empty(
    world: World,
) -> None:
    drop_every_table(world, settings.PATH)
    assert world.settings.get("global", "wifi_on") is None
    world.settings.put("global", "wifi_on", "1")
    assert world.settings.items("global") == [("wifi_on", "1")]


async def test_the_phone_rings_without_its_contacts(world: World, person: Person) -> None:
    drop_every_table(world, contacts.PATH)
    assert world.telephony.ring("5550123")
    assert world.telephony.call_state == RINGING
    assert [posted.title for posted in world.notifications.all()] == ["5550123"]
    assert person.sees("Phone keeps stopping")


async def test_an_effect_that_fails_does_not_hold_up_the_next(world: World) -> None:
    row = sms.add(world, "5550123", "late", sms.QUEUED)
    world.databases.execute(sms.PATH, "ALTER TABLE threads RENAME TO gone")
    world.effects.later(0, "sms.received", number="5550123", text="lost")
    world.effects.later(0, "call.logged", number="1", kind=2, date_ms=1, duration_s=0)
    world.tick()
    assert [call.number for call in calllog.recent(world)] == ["1"]
    assert any("Process: sms.received" in text for text in fatal(world))
    assert sms.message(world, row) is not None


async def test_what_a_dead_app_says_is_in_a_snapshot(world: World, person: Person) -> None:
    drop_every_table(world, sms.PATH)
    person.open("Messages")
    assert person.sees("Messages keeps stopping")
    saved = world.windows.save()
    person.tap("Close app")
    world.windows.load(saved)
    assert person.sees("Messages keeps stopping")
