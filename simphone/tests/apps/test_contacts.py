"""What a person can do in Contacts, and what it leaves in contacts2.db."""

from __future__ import annotations

import pytest

from simphone.providers import contacts
from simphone.providers.contacts_schema import PHONE
from simphone.ui.screen import Intent
from simphone.world import World
from tests.apps.person import Person

VIEW, EDIT, INSERT = (f"android.intent.action.{name}" for name in ("VIEW", "EDIT", "INSERT"))
PEOPLE = "content://com.android.contacts/contacts"


def create(person: Person, first: str, last: str, phone: str) -> None:
    person.tap("Create contact")
    person.fill("First name", first)
    person.fill("Last name", last)
    person.fill("Phone", phone)
    person.tap("Save")


def test_a_created_contact_is_shown_and_stored(world: World, person: Person) -> None:
    person.open("Contacts")
    assert person.sees("No contacts yet")
    create(person, "Ada", "Byron", "+1 555 0101")
    assert person.sees("Ada Byron")
    assert person.sees("+1 555 0101")
    person.back()
    assert person.sees("Ada Byron")
    [stored] = contacts.contacts(world)
    assert (stored.name, stored.phone) == ("Ada Byron", "+1 555 0101")


@pytest.mark.parametrize(
    ("field", "typed", "told"),
    [
        ("Phone", "5550100", "Enter a name"),
        ("First name", "   ", "Enter a name"),
    ],
)
def test_a_contact_without_a_name_is_refused_and_what_was_typed_stays(
    world: World, person: Person, field: str, typed: str, told: str
) -> None:
    person.open("Contacts")
    person.tap("Create contact")
    person.fill(field, typed)
    person.tap("Save")
    assert person.sees(told)
    assert person.find(field).text == typed
    assert contacts.contacts(world) == []


@pytest.mark.parametrize(
    ("field", "typed", "told"),
    [
        ("Phone", "call me", "Enter a phone number like +1 555 0100"),
        ("Email", "nowhere", "Enter an email address like name@example.com"),
    ],
)
def test_a_number_or_address_that_is_none_is_refused(
    world: World, person: Person, field: str, typed: str, told: str
) -> None:
    person.open("Contacts")
    person.tap("Create contact")
    person.fill("First name", "Ada")
    person.fill(field, typed)
    person.tap("Save")
    assert person.sees(told)
    assert contacts.contacts(world) == []


def test_cancel_keeps_nothing(world: World, person: Person) -> None:
    person.open("Contacts")
    person.tap("Create contact")
    person.fill("First name", "Ada")
    person.tap("Cancel")
    assert person.sees("No contacts yet")
    assert contacts.contacts(world) == []


def test_people_stand_in_order_and_can_be_searched(world: World, person: Person) -> None:
    for name in ("Dora", "anna", "Chen"):
        contacts.add_contact(world, name, "5550100")
    person.open("Contacts")
    words = [word for word in person.words() if word in ("Dora", "anna", "Chen")]
    assert words == ["anna", "Chen", "Dora"]
    person.fill("Search contacts", "che")
    assert person.sees("Chen")
    assert not person.sees("Dora")
    person.fill("Search contacts", "zzz")
    assert person.sees("No contacts found")


def test_rows_beyond_the_screen_are_absent_until_they_are_scrolled_to(
    world: World, person: Person
) -> None:
    for number in range(40):
        contacts.add_contact(world, f"Person {number:02d}", "5550100")
    person.open("Contacts")
    assert "Person 39" not in person.words()
    person.scroll_to("Person 39")
    assert "Person 00" not in person.words()
    person.tap("Person 39")
    assert person.find("Person 39").id == "large_title"


def test_an_edit_keeps_what_the_form_does_not_show(world: World, person: Person) -> None:
    """The form has one number; a second one, and the note, survive it."""
    known = contacts.add_contact(world, "Ada Byron", "5550101", "ada@example.com", "likes engines")
    raw = contacts.raw_of(world, known)
    world.databases.insert(
        contacts.PATH,
        "data",
        {
            "raw_contact_id": raw,
            "mimetype_id": contacts.mimetype_id(world, PHONE),
            "data1": "5550202",
        },
    )
    person.open("Contacts")
    person.tap("Ada Byron")
    person.tap("Edit contact")
    assert person.find("Last name").text == "Byron"
    person.fill("Last name", "King")
    person.fill("Phone", "5550999")
    person.tap("Save")
    assert person.sees("Ada King")
    stored = contacts.contact(world, known)
    assert stored is not None
    assert stored.phones == ("5550999", "5550202")
    assert (stored.emails, stored.note) == (("ada@example.com",), "likes engines")


def test_a_contact_is_deleted_only_after_a_yes(world: World, person: Person) -> None:
    contacts.add_contact(world, "Ada", "5550101")
    person.open("Contacts")
    person.tap("Ada")
    person.tap("Delete contact")
    person.back()
    assert len(contacts.contacts(world)) == 1
    person.tap("Delete contact")
    person.tap("Delete")
    assert contacts.contacts(world) == []
    assert person.sees("No contacts yet")


def test_a_star_makes_a_favourite_of_the_phone(world: World, person: Person) -> None:
    contacts.add_contact(world, "Ada", "5550101")
    person.open("Contacts")
    person.tap("Ada")
    person.tap("Add to favourites")
    assert contacts.contacts(world)[0].starred
    person.open("Phone")
    person.tap("Favourites")
    assert person.sees("Ada")


def test_text_leads_to_the_conversation_and_back(world: World, person: Person) -> None:
    contacts.add_contact(world, "Ada", "5550101")
    person.open("Contacts")
    person.tap("Ada")
    person.tap("Text")
    assert person.sees("Texting Ada")
    person.back()
    assert person.find("Ada").id == "large_title"


def test_an_insert_intent_fills_the_form(world: World, person: Person) -> None:
    extras = {"name": "Ada Byron", "phone": "5550101"}
    world.windows.launch(Intent(INSERT, PEOPLE, extras=dict(extras)))
    assert person.find("First name").text == "Ada"
    assert person.find("Phone").text == "5550101"
    person.tap("Save")
    assert contacts.contacts(world)[0].name == "Ada Byron"


def test_a_view_intent_shows_the_person_or_else_the_list(world: World, person: Person) -> None:
    known = contacts.add_contact(world, "Ada", "5550101")
    world.windows.launch(Intent(VIEW, f"{PEOPLE}/{known}"))
    assert person.find("Ada").id == "large_title"
    world.windows.launch(Intent(EDIT, f"{PEOPLE}/{known}"))
    assert person.find("First name").text == "Ada"
    world.windows.launch(Intent(VIEW, f"{PEOPLE}/{'9' * 5000}"))
    assert person.sees("Search contacts")


def test_a_contact_deleted_behind_the_screen_is_said_to_be_gone(
    world: World, person: Person
) -> None:
    known = contacts.add_contact(world, "Ada", "5550101")
    person.open("Contacts")
    person.tap("Ada")
    contacts.delete_contact(world, known)
    assert person.sees("This contact was deleted")
