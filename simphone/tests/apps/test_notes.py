"""Notes, as a person keeps them."""

from __future__ import annotations

import sqlite3

from simphone.apps.notes_store import PATH
from simphone.ui.screen import Intent
from simphone.world import World
from tests.apps.person import Person


def write(person: Person, title: str, body: str) -> None:
    person.tap("New note")
    person.fill("Title", title)
    person.fill("Note", body)
    person.tap("Save")


def rows(world: World) -> list[tuple[str, str]]:
    """Read by another program, as `sqlite3` on the phone does."""
    world.databases.close()
    with sqlite3.connect(world.disk.own(PATH)) as database:
        return database.execute("SELECT title, body FROM notes ORDER BY _id").fetchall()


def test_a_note_is_written_changed_and_deleted(person: Person, world: World) -> None:
    person.open("Notes")
    assert person.sees("No notes yet")
    write(person, "Shopping", "milk\neggs")
    assert rows(world) == [("Shopping", "milk\neggs")]
    person.tap("Shopping")
    person.tap("Note")
    person.type(" and tea")
    person.tap("Save")
    assert rows(world) == [("Shopping", "milk\neggs and tea")]
    person.tap("Shopping")
    person.tap("Delete")
    person.tap("Cancel")
    assert len(rows(world)) == 1
    person.tap("Delete")
    person.tap("Delete")
    assert rows(world) == []
    assert person.sees("No notes yet")


def test_back_leaves_the_editor_without_saving(person: Person, world: World) -> None:
    person.open("Notes")
    person.tap("New note")
    person.fill("Title", "draft")
    person.back()
    assert person.sees("New note"), "the first back only takes the keyboard away"
    person.back()
    assert rows(world) == []
    assert person.sees("No notes yet")


def test_an_empty_note_is_not_kept(person: Person, world: World) -> None:
    person.open("Notes")
    person.tap("New note")
    person.tap("Save")
    assert rows(world) == []


def test_search_finds_words_of_title_and_body_and_back_leaves_it(person: Person) -> None:
    person.open("Notes")
    write(person, "Straße", "red")
    write(person, "Boat", "blue paddle")
    person.tap("Search")
    person.type("PADDLE")
    assert person.sees("Boat")
    assert not person.sees("Straße")
    person.fill("Search notes", "xyz")
    assert person.sees("No notes found")
    person.back()
    person.back()
    assert person.sees("Straße")


def test_a_long_list_scrolls_and_its_far_rows_are_not_in_the_dump(
    person: Person, world: World
) -> None:
    for number in range(40):
        row = {"title": f"note {number}", "body": "", "created": number, "modified": number}
        world.databases.insert(PATH, "notes", row)
    person.open("Notes")
    assert person.sees("note 39")
    assert not person.sees("note 3 ")
    person.scroll_to("note 0")
    person.tap("note 0")
    assert person.find("Title").text == "note 0"


def test_what_another_program_wrote_is_shown_as_text(person: Person, world: World) -> None:
    world.databases.execute(PATH, "INSERT INTO notes(title, body, modified) VALUES (7, x'ff', 'x')")
    world.databases.execute(PATH, "INSERT INTO notes(title, modified) VALUES ('far', 1 << 62)")
    person.open("Notes")
    person.tap("7")
    assert person.find("Title").text == "7"


def test_a_note_is_opened_by_its_id(person: Person, world: World) -> None:
    person.open("Notes")
    write(person, "One", "x")
    [number] = [row["_id"] for row in world.databases.query(PATH, "SELECT _id FROM notes")]
    extras = {"note_id": number}
    package, activity = "com.simplemobiletools.notes", ".activities.NoteActivity"
    world.windows.launch(Intent(package=package, activity=activity, extras=extras))
    assert person.find("Title").text == "One"
