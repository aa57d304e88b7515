"""Contacts, calls, appointments, media and downloads, as apps and `content` see them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from simphone.providers import calendar, calllog, contacts, downloads, media
from simphone.world import World
from tests.phone import phone, run, until

PEOPLE = "content://com.android.contacts"
DIARY = "content://com.android.calendar"


@pytest.fixture(params=[None, 3], ids=["plain", "noisy"])
async def world(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with phone(tmp_path, request.param) as world:
        yield world


async def query(world: World, uri: str, projection: str, *more: str) -> str:
    answer = await run(world, "content", "query", "--uri", uri, "--projection", projection, *more)
    assert (answer.code, answer.err) == (0, "")
    return answer.out


async def test_a_contact_can_be_found_changed_and_deleted(world: World) -> None:
    ada = contacts.add_contact(world, "Ada Lovelace", "+1 555 123 4567", "ada@example.org")
    bob = contacts.add_contact(world, "bob", "555-7654")
    assert [person.name for person in contacts.contacts(world)] == ["Ada Lovelace", "bob"]
    assert [person.id for person in contacts.search(world, "love")] == [ada]
    assert [person.id for person in contacts.search(world, "7654")] == [bob]
    assert contacts.name_of(world, "5551234567") == "Ada Lovelace"
    assert contacts.name_of(world, "999") == "999"
    contacts.update_contact(world, ada, "Ada King", "5550000000")
    assert contacts.contact(world, ada) == contacts.Contact(ada, "Ada King", ("5550000000",))
    contacts.delete_contact(world, ada)
    assert contacts.contact(world, ada) is None
    assert contacts.by_number(world, "5550000000") is None


async def test_contacts_show_through_their_uris(world: World) -> None:
    ada = contacts.add_contact(world, "Ada", "5551234567", "ada@example.org")
    assert await query(world, f"{PEOPLE}/contacts", "display_name:has_phone_number") == (
        "Row: 0 display_name=Ada, has_phone_number=1\n"
    )
    assert await query(world, f"{PEOPLE}/data/phones", "display_name:data1") == (
        "Row: 0 display_name=Ada, data1=5551234567\n"
    )
    assert await query(world, f"{PEOPLE}/data/emails", "data1") == "Row: 0 data1=ada@example.org\n"
    assert await query(world, f"{PEOPLE}/phone_lookup/%2B15551234567", "_id") == (
        f"Row: 0 _id={ada}\n"
    )
    assert await query(world, f"{PEOPLE}/phone_lookup/1", "_id") == "No result found.\n"


async def test_a_contact_made_by_content_inserts_is_a_contact(world: World) -> None:
    made = await run(
        world, "content", "insert", "--uri", f"{PEOPLE}/raw_contacts",
        "--bind", "account_type:s:", "--bind", "account_name:s:",
    )  # fmt: skip
    assert made.err == ""
    raw = (await query(world, f"{PEOPLE}/raw_contacts", "_id")).strip().rpartition("=")[2]
    for mimetype, value in (("name", "Eve: the 2nd"), ("phone_v2", "5550001111")):
        added = await run(
            world, "content", "insert", "--uri", f"{PEOPLE}/data",
            "--bind", f"raw_contact_id:i:{raw}",
            "--bind", f"mimetype:s:vnd.android.cursor.item/{mimetype}",
            "--bind", f"data1:s:{value}",
        )  # fmt: skip
        assert added.err == ""
    [eve] = contacts.contacts(world)
    assert (eve.name, eve.phones) == ("Eve: the 2nd", ("5550001111",))
    await run(
        world, "content", "update", "--uri", f"{PEOPLE}/data", "--bind", "data1:s:Eva",
        "--where", "mimetype='vnd.android.cursor.item/name'",
    )  # fmt: skip
    assert contacts.contacts(world)[0].name == "Eva"
    await run(world, "content", "delete", "--uri", f"{PEOPLE}/raw_contacts/{raw}")
    assert contacts.contacts(world) == []
    assert await query(world, f"{PEOPLE}/data", "_id") == "No result found.\n"


async def test_an_aggregate_contact_cannot_be_inserted(world: World) -> None:
    answer = await run(
        world, "content", "insert", "--uri", f"{PEOPLE}/contacts", "--bind", "starred:i:1"
    )
    assert answer.err.splitlines()[1] == (
        "java.lang.UnsupportedOperationException: Aggregate contacts are created automatically"
    )


async def test_past_calls_name_their_contact(world: World) -> None:
    contacts.add_contact(world, "Ada", "5551234567")
    calllog.add(world, "+15551234567", calllog.MISSED, 1000)
    calllog.add(world, "5550000", calllog.OUTGOING, 2000, 65)
    assert [(c.number, c.name, c.duration_s) for c in calllog.recent(world)] == [
        ("5550000", "", 65),
        ("+15551234567", "Ada", 0),
    ]
    assert await query(world, "content://call_log/calls", "number:type:duration:name") == (
        "Row: 0 number=5550000, type=2, duration=65, name=NULL\n"
        "Row: 1 number=+15551234567, type=3, duration=0, name=Ada\n"
    )
    calllog.mark_seen(world)
    assert not any(call.new for call in calllog.recent(world))
    calllog.clear(world)
    assert calllog.recent(world) == []


async def test_appointments_are_instances_and_know_of_their_reminders(world: World) -> None:
    lunch = calendar.add_event(world, "Lunch", 10_000, 20_000, location="Café")
    calendar.add_event(world, "Later", 50_000, reminder_minutes=10)
    calendar.update_event(world, lunch, "Long lunch", 10_000, 30_000)
    assert await query(world, f"{DIARY}/instances/when/0/40000", "title:begin:end") == (
        "Row: 0 title=Long lunch, begin=10000, end=30000\n"
    )
    assert await query(world, f"{DIARY}/events", "title:hasAlarm", "--sort", "dtstart") == (
        "Row: 0 title=Long lunch, hasAlarm=0\nRow: 1 title=Later, hasAlarm=1\n"
    )
    calendar.delete_event(world, lunch)
    assert calendar.event(world, lunch) is None


async def test_there_is_a_local_calendar_and_an_event_needs_its_fields(world: World) -> None:
    assert await query(world, f"{DIARY}/calendars", "_id:account_type:calendar_displayName") == (
        "Row: 0 _id=1, account_type=LOCAL, calendar_displayName=Phone\n"
    )
    bad = await run(
        world, "content", "insert", "--uri", f"{DIARY}/events", "--bind", "title:s:Nothing"
    )
    assert bad.err.splitlines()[:2] == [
        "Error while accessing provider:com.android.calendar",
        "java.lang.IllegalArgumentException: Event values must include a calendar_id",
    ]
    good = await run(
        world, "content", "insert", "--uri", f"{DIARY}/events",
        "--bind", "calendar_id:i:1", "--bind", "title:s:Tea", "--bind", "dtstart:l:1000",
        "--bind", "dtend:l:2000", "--bind", "eventTimezone:s:UTC",
    )  # fmt: skip
    assert good.err == ""
    assert [event.title for event in calendar.events(world)] == ["Tea"]


async def test_the_media_index_follows_the_files_late(world: World) -> None:
    uri = "content://media/external/images/media"
    world.disk.own("/sdcard/Pictures/cat.png").write_bytes(b"12345")
    world.disk.own("/sdcard/Pictures/.hidden.png").write_bytes(b"1")
    media.changed(world)
    media.changed(world)
    assert len(world.effects.save()) == 1
    assert await query(world, uri, "_data") == "No result found.\n"
    files = "SELECT _data FROM files"
    await until(world, lambda: bool(world.databases.query(media.PATH, files)))
    assert await query(world, uri, "_data:_size:mime_type") == (
        "Row: 0 _data=/storage/emulated/0/Pictures/cat.png, _size=5, mime_type=image/png\n"
    )
    world.disk.own("/sdcard/Pictures/cat.png").unlink()
    called = await run(
        world, "content", "call", "--uri", "content://media", "--method", "scan_volume",
        "--arg", "external_primary",
    )  # fmt: skip
    assert called.out == "Result: Bundle[{}]\n"
    assert await query(world, uri, "_data") == "No result found.\n"


async def test_a_scan_of_an_unchanged_phone_changes_nothing(world: World) -> None:
    world.disk.own("/sdcard/Download/a.txt").write_bytes(b"a")
    assert media.scan(world) == 1
    assert media.scan(world) == 0


async def test_a_download_is_running_then_a_file_with_a_free_name(world: World) -> None:
    for expected in ("report.pdf", "report-1.pdf"):
        row = downloads.begin(world, "http://10.0.2.2/report.pdf", "report.pdf")
        assert downloads.downloads(world)[0].status == downloads.RUNNING
        path = downloads.finish(world, row, b"%PDF")
        assert path == f"/storage/emulated/0/Download/{expected}"
        assert world.disk.own(path).read_bytes() == b"%PDF"
    evil = downloads.begin(world, "http://10.0.2.2/", "../../../etc/passwd")
    assert downloads.finish(world, evil, b"x").startswith("/storage/emulated/0/Download/")
    shown = await query(world, "content://downloads/my_downloads", "status:total_bytes:mimetype")
    assert shown.startswith("Row: 0 status=200, total_bytes=4, mimetype=application/pdf\n")


async def test_deleted_rows_leave_their_ids_unused(world: World) -> None:
    first = contacts.add_contact(world, "Ada")
    contacts.delete_contact(world, first)
    assert contacts.add_contact(world, "Ada") > first
