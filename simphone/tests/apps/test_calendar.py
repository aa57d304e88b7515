"""What a person can do in Calendar, and what it leaves in calendar.db."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from simphone.providers import calendar
from simphone.ui.screen import Intent
from simphone.world import World
from tests.apps.person import Person

VIEW, INSERT = "android.intent.action.VIEW", "android.intent.action.INSERT"
EVENTS = "content://com.android.calendar/events"
DAY_MS = 86_400_000


def ms(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp()) * 1000  # type: ignore[misc, arg-type]


@pytest.fixture(autouse=True)
def _in_may(world: World) -> None:
    """It is Sunday, 31 May 2026, ten past nine."""
    world.clock.set_date(ms(2026, 5, 31, 9, 10) / 1000)


def test_an_event_is_made_shown_and_stored(world: World, person: Person) -> None:
    person.open("Calendar")
    assert person.sees("May 2026")
    assert person.sees("Nothing planned")
    person.tap("New event")
    person.fill("Title", "Dentist")
    person.fill("Location", "Main Street 4")
    person.fill("Date", "2026-06-02")
    person.fill("Start time", "14:00")
    person.fill("End time", "14:45")
    person.tap("Save")
    assert person.sees("Tuesday, 2 June 2026")
    assert person.sees("14:00 – 14:45")
    person.back()
    assert person.sees("Dentist")
    [event] = calendar.events(world)
    assert (event.title, event.location) == ("Dentist", "Main Street 4")
    assert (event.start_ms, event.end_ms) == (ms(2026, 6, 2, 14), ms(2026, 6, 2, 14, 45))


def test_a_new_event_begins_at_the_next_hour_of_the_chosen_day(person: Person) -> None:
    person.open("Calendar")
    person.tap("12 May 2026")
    person.tap("New event")
    assert person.find("Date").text == "2026-05-12"
    assert person.find("Start time").text == "10:00"
    assert person.find("End time").text == "11:00"


@pytest.mark.parametrize(
    ("field", "typed", "told"),
    [
        ("Title", "  ", "Enter a title"),
        ("Date", "31.05.2026", "Enter a date like 2026-05-31"),
        ("Date", "2026-02-30", "Enter a date like 2026-05-31"),
        ("Start time", "9 o'clock", "Enter a time like 09:30"),
        ("End time", "25:00", "Enter a time like 09:30"),
        ("End time", "08:00", "The end must be after the start"),
    ],
)
def test_a_bad_value_is_told_and_nothing_that_was_typed_is_lost(
    world: World, person: Person, field: str, typed: str, told: str
) -> None:
    person.open("Calendar")
    person.tap("New event")
    person.fill("Title", "Dentist")
    person.fill("Location", "Main Street 4")
    person.fill(field, typed)
    person.tap("Save")
    assert person.sees(told)
    assert person.find(field).text == typed
    assert person.find("Location").text == "Main Street 4"
    assert calendar.events(world) == []


def test_date_and_times_can_be_stepped_without_typing(person: Person) -> None:
    person.open("Calendar")
    person.tap("New event")
    person.tap("Date later")
    person.tap("Start time later")
    person.tap("End time later")
    assert person.find("Date").text == "2026-06-01"
    assert person.find("Start time").text == "10:30"
    assert person.find("End time").text == "12:00"
    person.tap("Date earlier")
    person.tap("Start time earlier")
    assert person.find("Date").text == "2026-05-31"
    assert person.find("Start time").text == "10:00"


def test_an_all_day_event_lasts_from_midnight_to_midnight(world: World, person: Person) -> None:
    person.open("Calendar")
    person.tap("New event")
    person.fill("Title", "Holiday")
    person.back()
    person.tap("All day")
    assert not person.sees("Start time")
    person.tap("Save")
    assert person.sees("All day")
    [event] = calendar.events(world)
    assert event.all_day
    assert (event.start_ms, event.end_ms) == (ms(2026, 5, 31), ms(2026, 6, 1))


def test_an_event_over_several_days_keeps_its_length_when_it_is_changed(
    world: World, person: Person
) -> None:
    start = ms(2026, 6, 2)
    calendar.add_event(world, "Conference", start, start + 3 * DAY_MS, all_day=True)
    person.open("Calendar")
    person.tap("Conference")
    person.tap("Edit")
    assert person.sees("Ends 2 days later")
    person.fill("Title", "Big conference")
    person.tap("Date later")
    person.tap("Save")
    assert person.sees("Big conference")
    [event] = calendar.events(world)
    assert (event.start_ms, event.end_ms) == (start + DAY_MS, start + 4 * DAY_MS)


def test_an_event_is_deleted_only_after_a_yes(world: World, person: Person) -> None:
    calendar.add_event(world, "Dentist", ms(2026, 5, 31, 14))
    person.open("Calendar")
    person.tap("Dentist")
    person.tap("Delete")
    person.tap("Cancel")
    assert len(calendar.events(world)) == 1
    person.tap("Delete")
    person.tap("Delete")
    assert calendar.events(world) == []
    assert person.sees("Nothing planned")


def test_the_agenda_groups_what_comes_by_day(world: World, person: Person) -> None:
    calendar.add_event(world, "Late", ms(2026, 6, 1, 18))
    calendar.add_event(world, "Early", ms(2026, 6, 1, 8))
    calendar.add_event(world, "Past", ms(2026, 5, 20, 8))
    person.open("Calendar")
    wanted = ("Nothing planned", "Tomorrow, Monday, 1 June", "Early", "Late", "Past")
    assert [word for word in person.words() if word in wanted] == [*wanted[:4]]
    person.tap("20 May 2026")
    assert person.sees("Past")
    assert person.find("20 May 2026").bounds.width > 0


def test_months_are_turned_and_today_comes_back(person: Person) -> None:
    person.open("Calendar")
    person.tap("Next month")
    assert person.sees("June 2026")
    person.tap("30 June 2026")
    person.tap("Previous month")
    person.tap("Previous month")
    assert person.sees("April 2026")
    person.tap("Today")
    assert person.sees("Today, Sunday, 31 May")


def test_an_insert_intent_fills_the_form(world: World, person: Person) -> None:
    extras = {
        "title": "Dentist",
        "beginTime": ms(2026, 6, 2, 14),
        "endTime": str(ms(2026, 6, 2, 15)),
        "eventLocation": "Main Street 4",
    }
    world.windows.launch(Intent(INSERT, EVENTS, extras=dict(extras)))
    assert person.find("Title").text == "Dentist"
    assert person.find("Date").text == "2026-06-02"
    person.tap("Save")
    [event] = calendar.events(world)
    assert (event.start_ms, event.end_ms) == (ms(2026, 6, 2, 14), ms(2026, 6, 2, 15))


@pytest.mark.parametrize(
    ("time", "month"),
    [
        (str(ms(2026, 7, 4)), "July 2026"),
        ("9" * 18, "December 9999"),
        ("-" + "9" * 18, "January 1"),
        ("soon", "May 2026"),
    ],
)
def test_a_time_intent_shows_that_day(world: World, person: Person, time: str, month: str) -> None:
    world.windows.launch(Intent(VIEW, f"content://com.android.calendar/time/{time}"))
    assert person.find(month).id == "month"


def test_rows_that_no_app_would_write_are_shown_all_the_same(world: World, person: Person) -> None:
    """sqlite3 can put anything into a database."""
    sql = "INSERT INTO Events (calendar_id, title, dtstart, dtend) VALUES (1, ?, ?, ?)"
    for row in ((None, 2**62, -5), ("Odd", None, None), ("Endless", -(2**62), 2**62)):
        world.databases.execute(calendar.PATH, sql, row)
    person.open("Calendar")
    assert person.sees("Endless")
    person.tap("Endless")
    person.tap("Edit")
    person.tap("Save")
    assert len(calendar.events(world)) == 3
