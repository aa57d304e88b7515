"""What a person can do in Messages, and what it leaves in mmssms.db."""

from __future__ import annotations

from typing import Any

import pytest

from simphone.apps.builtin import Builtin
from simphone.providers import contacts, sms
from simphone.ui.node import Node
from simphone.ui.scaffold import page
from simphone.ui.screen import Intent, Screen
from simphone.world import World
from tests.apps.person import Person

SENDTO = "android.intent.action.SENDTO"


def rows(world: World) -> list[dict[str, Any]]:
    return world.databases.query(sms.PATH, "SELECT * FROM sms ORDER BY _id")


def test_a_fresh_phone_has_no_conversations(person: Person) -> None:
    person.open("Messages")
    assert person.sees("No conversations yet")


async def test_a_message_to_a_new_number_is_queued_and_then_sent(
    world: World, person: Person
) -> None:
    person.open("Messages")
    person.tap("Start chat")
    person.type("5550142")
    person.tap("Send to 5550142")
    person.type("On my way")
    person.tap("Send")
    assert person.find("Text message").text == ""
    assert person.sees("Sending…")
    assert [(row["address"], row["body"], row["type"]) for row in rows(world)] == [
        ("5550142", "On my way", sms.QUEUED)
    ]
    person.wait_for("Sent")
    assert rows(world)[0]["type"] == sms.SENT
    person.back()
    person.back()
    assert person.sees("5550142")
    assert person.sees("On my way")


async def test_a_contact_is_suggested_while_its_name_is_typed(world: World, person: Person) -> None:
    contacts.add_contact(world, "Ada Byron", "+1 555 0101")
    contacts.add_contact(world, "Chen Li", "+1 555 0102")
    person.open("Messages")
    person.tap("Start chat")
    person.type("ad")
    assert not person.sees("Chen Li")
    person.tap("Ada Byron")
    person.type("Hello")
    person.enter()
    assert rows(world)[0]["address"] == "+1 555 0101"
    assert person.find("Ada Byron").id == "title"


def test_a_recipient_that_is_no_number_is_refused_in_words(person: Person) -> None:
    person.open("Messages")
    person.tap("Start chat")
    person.type("nobody")
    person.tap("Done")
    assert person.sees("Enter a phone number or choose a contact")
    assert person.find("To").text == "nobody"


async def test_a_message_that_arrives_is_announced_and_opens_from_the_shade(
    world: World, person: Person
) -> None:
    world.telephony.receive_sms("+15550199", "Your code is 482913")
    person.wait_until(lambda: bool(rows(world)))
    assert rows(world)[0]["read"] == 0
    person.pull_shade()
    person.tap("Your code is 482913")
    assert person.activity().endswith(".ui.conversation.ConversationActivity")
    assert person.sees("Your code is 482913")
    assert rows(world)[0]["read"] == 1
    assert world.notifications.all() == []


async def test_opening_a_conversation_reads_it_and_takes_its_notification_away(
    world: World, person: Person
) -> None:
    world.telephony.receive_sms("+15550199", "Hello")
    person.wait_until(lambda: bool(rows(world)))
    person.open("Messages")
    person.tap("+15550199")
    assert rows(world)[0]["read"] == 1
    assert world.notifications.all() == []


async def test_a_message_that_arrives_in_the_open_conversation_is_read_at_once(
    world: World, person: Person
) -> None:
    sms.add(world, "+15550199", "Hello", sms.INBOX)
    person.open("Messages")
    person.tap("+15550199")
    world.telephony.receive_sms("+15550199", "Are you there?")
    person.wait_for("Are you there?")
    assert [row["read"] for row in rows(world)] == [1, 1]
    assert world.notifications.all() == []


def test_a_held_message_can_be_copied_and_deleted(world: World, person: Person) -> None:
    sms.add(world, "5550100", "first", sms.INBOX)
    sms.add(world, "5550100", "second", sms.SENT)
    person.open("Messages")
    person.tap("5550100")
    person.hold("first")
    person.tap("Copy text")
    assert world.clipboard.text == "first"
    person.hold("second")
    person.tap("Delete")
    assert [row["body"] for row in rows(world)] == ["first"]
    assert not person.sees("second")


def test_a_conversation_is_deleted_only_after_a_yes(world: World, person: Person) -> None:
    sms.add(world, "5550100", "first", sms.INBOX)
    person.open("Messages")
    person.tap("5550100")
    person.tap("Delete conversation")
    person.tap("Cancel")
    assert len(rows(world)) == 1
    person.tap("Delete conversation")
    person.tap("Delete")
    assert rows(world) == []
    assert person.sees("No conversations yet")


def test_a_long_conversation_opens_at_its_end_and_its_start_is_absent(
    world: World, person: Person
) -> None:
    for number in range(60):
        sms.add(world, "5550100", f"message {number}", sms.INBOX, date_ms=1_000_000 + number)
    person.open("Messages")
    person.tap("5550100")
    assert person.sees("message 59")
    assert "message 0" not in person.words()
    person.scroll_to("message 0", up=False)
    assert "message 59" not in person.words()


async def test_without_a_radio_a_message_fails_and_can_be_sent_again(
    world: World, person: Person
) -> None:
    world.settings.put("global", "airplane_mode_on", "1")
    world.windows.launch(Intent(SENDTO, "smsto:5550100?body=Hello%20there"))
    assert person.find("Text message").text == "Hello there"
    person.tap("Send")
    person.wait_for("Not sent. Tap to try again.")
    world.settings.put("global", "airplane_mode_on", "0")
    person.tap("Hello there")
    person.wait_for("Sent")
    assert [row["type"] for row in rows(world)] == [sms.SENT]


@pytest.mark.parametrize(
    ("data", "extras", "number", "body"),
    [
        ("sms:5550100", {"sms_body": "Hi"}, "5550100", "Hi"),
        ("smsto:%2B15550100;5550101", {}, "+15550100", ""),
        ("SMSTO://5550100?body=a%26b", {}, "5550100", "a&b"),
    ],
)
def test_an_sms_address_opens_its_conversation_with_the_text(
    world: World, data: str, extras: dict[str, str], number: str, body: str
) -> None:
    world.windows.launch(Intent(SENDTO, data, extras=dict(extras)))
    front = world.windows.front()
    assert front is not None
    assert front[1].args["number"] == number
    assert front[1].fields["message"] == body


def test_opening_an_address_makes_no_thread(world: World, person: Person) -> None:
    """A conversation nobody wrote in is not in the database."""
    world.windows.launch(Intent(SENDTO, "smsto:5550100"))
    assert person.sees("Texting 5550100")
    assert sms.threads(world) == []


class Follower(Builtin):
    """A browser as far as showing an address goes."""

    package = "com.example.follower"
    label = "Follower"

    def open(self, world: World, intent: Intent) -> Screen | None:
        return Screen(".Page", {"at": intent.data}) if intent.data.startswith("http:") else None

    def view(self, world: World, screen: Screen) -> Node:
        return page(screen, str(screen.args["at"]), [])


def test_a_link_in_a_message_is_followed_without_its_full_stop(
    world: World, person: Person
) -> None:
    world.apps = {Follower.package: Follower(), **world.apps}
    sms.add(world, "5550100", "Look at http://10.0.2.2:8000/menu, please.", sms.INBOX)
    person.open("Messages")
    person.tap("5550100")
    person.tap("http://10.0.2.2:8000/menu")
    assert person.activity() == "com.example.follower/com.example.follower.Page"
    assert person.find("http://10.0.2.2:8000/menu").id == "title"


async def test_a_draft_outlives_back_and_the_app_and_is_no_message(
    world: World, person: Person
) -> None:
    sms.add(world, "5550142", "Where are you?", sms.INBOX)
    person.open("Messages")
    person.tap("5550142")
    person.fill("Text message", "On my")
    for _ in range(2):
        person.back()
    assert person.sees("Draft: On my")
    assert len(rows(world)) == 1
    world.windows.stop_package("com.android.messaging")
    person.open("Messages")
    person.tap("5550142")
    assert person.find("Text message").text == "On my"
    person.tap("Send")
    person.back()
    assert not person.sees("Draft: ")
    assert [row["body"] for row in rows(world)] == ["Where are you?", "On my"]


async def test_a_draft_to_a_number_without_a_conversation_is_listed(
    world: World, person: Person
) -> None:
    world.windows.launch(Intent(SENDTO, "smsto:5550199?body=Hello"))
    person.back()
    person.open("Messages")
    assert person.sees("Draft: Hello")
    assert rows(world) == []
