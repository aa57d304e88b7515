"""What a person can do in Phone, and what it leaves in calllog.db."""

from __future__ import annotations

from typing import Any

from simphone.providers import calllog, contacts
from simphone.ui.screen import Intent
from simphone.world import World
from tests.apps.person import Person

CALL, DIAL = "android.intent.action.CALL", "android.intent.action.DIAL"
DIALER = "com.android.dialer"
CALL_PHONE = "android.permission.CALL_PHONE"


def rows(world: World) -> list[dict[str, Any]]:
    return world.databases.query(calllog.PATH, "SELECT * FROM calls ORDER BY _id")


def allow_calls(world: World) -> None:
    world.packages.grant(DIALER, CALL_PHONE, allow=True)


async def test_asking_who_would_answer_does_nothing(world: World, person: Person) -> None:
    calllog.add(world, "5550123", calllog.MISSED, 1)
    for intent in (Intent(CALL, "tel:5550123"), Intent(package=DIALER)):
        assert world.windows.answering(intent) is not None
    assert world.telephony.call is None
    assert [row["new"] for row in rows(world)] == [1]
    person.open("Phone")
    assert [row["new"] for row in rows(world)] == [0]


def dial(person: Person, number: str) -> None:
    person.open("Phone")
    person.tap("Dial pad")
    for digit in number:
        person.tap(digit)


async def test_the_first_call_asks_for_permission_and_a_yes_calls(
    world: World, person: Person
) -> None:
    dial(person, "5550142")
    assert person.find("Number").text == "5550142"
    person.tap("Call")
    assert person.sees("Allow Phone to make and manage phone calls?")
    person.tap("Allow")
    assert person.sees("Calling…")
    installed = world.packages.get(DIALER)
    assert installed is not None
    assert installed.granted == (CALL_PHONE,)
    person.wait_for("0:02")
    assert rows(world) == []
    person.tap("End call")
    person.wait_until(lambda: bool(rows(world)))
    [row] = rows(world)
    assert (row["number"], row["type"]) == ("5550142", calllog.OUTGOING)
    assert row["duration"] >= 2


def test_a_call_that_was_not_allowed_is_not_made(world: World, person: Person) -> None:
    dial(person, "5550142")
    person.tap("Call")
    person.tap("Don't allow")
    assert world.telephony.call is None
    assert person.find("Number").text == "5550142"


def test_the_pad_erases_and_writes_a_plus(person: Person) -> None:
    person.open("Phone")
    person.tap("Dial pad")
    person.hold("0")
    person.tap("1")
    person.tap("2")
    person.tap("Backspace")
    assert person.find("Number").text == "+1"
    person.back()
    assert person.sees("No recent calls")


async def test_an_incoming_call_stands_over_everything_and_gives_it_back(
    world: World, person: Person
) -> None:
    contacts.add_contact(world, "Ada", "+15550101")
    person.open("Phone")
    person.open("Settings")
    world.telephony.ring("+15550101")
    assert person.activity() == f"{DIALER}/com.android.incallui.InCallActivity"
    assert person.sees("Ada")
    assert person.sees("Incoming call")
    person.tap("Answer")
    person.wait_for("0:01")
    person.tap("End call")
    assert person.activity().startswith("com.android.settings/")
    person.wait_until(lambda: bool(rows(world)))
    assert (rows(world)[0]["type"], rows(world)[0]["name"]) == (calllog.INCOMING, "Ada")


async def test_a_call_wakes_a_dark_screen(world: World, person: Person) -> None:
    world.windows.awake = False
    world.telephony.ring("5550101")
    assert person.sees("Incoming call")


async def test_a_declined_call_is_logged_as_declined(world: World, person: Person) -> None:
    world.telephony.ring("5550101")
    person.tap("Decline")
    person.wait_until(lambda: bool(rows(world)))
    assert rows(world)[0]["type"] == calllog.REJECTED
    person.open("Phone")
    assert person.sees("Declined")


async def test_a_missed_call_is_announced_and_seen_among_the_recent_ones(
    world: World, person: Person
) -> None:
    world.telephony.ring("5550101")
    world.telephony.cancel()
    person.wait_until(lambda: bool(rows(world)))
    assert rows(world)[0]["new"] == 1
    person.pull_shade()
    person.tap("Missed call")
    assert person.sees("Missed ·")
    assert rows(world)[0]["new"] == 0


async def test_a_call_goes_on_while_the_person_is_elsewhere(world: World, person: Person) -> None:
    world.windows.launch(Intent(CALL, "tel:5550101"))
    person.wait_for("0:01")
    person.home()
    assert world.telephony.call is not None
    person.tap("Phone")
    person.back()
    assert world.telephony.call is not None
    person.open("Phone")
    person.tap("Return to call")
    person.tap("Mute")
    assert person.find("Mute").checked
    person.tap("End call")
    assert world.telephony.call is None


async def test_a_recent_call_offers_what_can_be_done_with_its_number(
    world: World, person: Person
) -> None:
    calllog.add(world, "5550101", calllog.INCOMING, world.clock.now_ms(), 75)
    person.open("Phone")
    assert person.sees("Incoming ·")
    assert person.sees("1:15")
    person.tap("5550101")
    person.tap("Add to contacts")
    assert person.find("Phone").text == "5550101"
    person.fill("First name", "Ada")
    person.tap("Save")
    person.open("Phone")
    person.tap("Ada")
    person.tap("Delete from call history")
    assert rows(world) == []


async def test_the_call_button_of_a_row_calls(world: World, person: Person) -> None:
    allow_calls(world)
    contacts.add_contact(world, "Ada", "+1 555 0101")
    person.open("Phone")
    person.tap("Contacts")
    person.tap("Call Ada")
    assert person.sees("Calling…")
    assert world.telephony.call is not None
    assert world.telephony.call.number == "+15550101"


def test_history_is_cleared_only_after_a_yes(world: World, person: Person) -> None:
    calllog.add(world, "5550101", calllog.MISSED, world.clock.now_ms())
    person.open("Phone")
    person.tap("Clear call history")
    person.tap("Cancel")
    assert len(rows(world)) == 1
    person.tap("Clear call history")
    person.tap("Clear")
    assert person.sees("No recent calls")


def test_a_dial_intent_only_fills_the_pad(world: World, person: Person) -> None:
    world.windows.launch(Intent(DIAL, "tel:+1%20555-0101"))
    assert person.find("Number").text == "+1 555-0101"
    assert world.telephony.call is None


def test_without_a_radio_the_reason_is_told(world: World, person: Person) -> None:
    world.settings.put("global", "airplane_mode_on", "1")
    world.windows.launch(Intent(CALL, "tel:5550101"))
    assert person.sees("Turn off airplane mode to make a call.")
    person.tap("OK")
    assert person.find("Number").text == "5550101"
