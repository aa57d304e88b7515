"""A person uses the phone by what is visible; loading the snapshot then undoes everything."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

from tests.whole.conftest import CLEAN, Phone
from tests.whole.person import Person, until

PAGE = b"""<html><head><title>Guest book</title></head><body><h1>Guest book</h1>
<form method="post" action="/sign"><input name="who" placeholder="Your name">
<input type="submit" value="Sign"></form></body></html>"""


class GuestBook(ThreadingHTTPServer):
    def __init__(self) -> None:
        self.signed: list[str] = []
        super().__init__(("127.0.0.1", 0), Visitor)


class Visitor(BaseHTTPRequestHandler):
    server: GuestBook

    def do_GET(self) -> None:
        self._answer(PAGE)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.signed += parse_qs(body)["who"]
        self._answer(b"<h1>Thank you</h1>")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the test asks the server what it got."""


@pytest.fixture
def guest_book() -> Iterator[GuestBook]:
    with GuestBook() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def person(phone: Phone) -> Person:
    return Person(phone.device)


def databases(phone: Phone) -> str:
    """Every database's bytes, by digest: a row in a write-ahead log counts as a row."""
    script = "find /data/data -name '*.db' -o -name '*.db-wal' | sort | xargs sha256sum"
    return phone.device.shell.do("su", "0", "sh", "-c", script).text


def makes_a_contact(person: Person) -> None:
    person.opens("Contacts")
    person.tap("Create contact")
    person.fill("First name", "Ada")
    person.fill("Last name", "Lovelace")
    person.fill("Phone", "+15550123")
    person.back()
    person.tap("Save")
    person.waits_for("Ada Lovelace")


def sends_a_message(person: Person) -> None:
    person.opens("Messages")
    person.tap("Start chat")
    person.fill("To", "Ada")
    person.tap("Ada Lovelace")
    person.fill("Text message", "See you at 5, by the gate")
    person.tap("Send")
    person.waits_for("See you at 5, by the gate")


def turns_wifi_off(person: Person) -> None:
    person.opens("Settings")
    person.tap("Network & internet")
    person.tap("Internet")
    person.tap("Use Wi-Fi")


def signs_the_guest_book(person: Person, port: int) -> None:
    person.opens("Browser")
    person.fill("Search or type web address", f"http://10.0.2.2:{port}/\n")
    person.fill("Your name", "Ada")
    person.back()
    person.tap("Sign")
    person.waits_for("Thank you")


def makes_an_appointment(person: Person) -> None:
    person.opens("Calendar")
    person.tap("New event")
    person.fill("Title", "Dentist")
    person.back()
    person.tap("Save")
    person.waits_for("Dentist")


def reads_a_notification(person: Person) -> None:
    person.pulls_the_shade()
    person.tap("Your parcel is here")
    person.waits_for("Your parcel is here")


def renames_a_file(person: Person) -> None:
    person.opens("Files")
    person.tap("Documents")
    person.hold("draft.txt")
    person.tap("Rename")
    person.fill("Name", "final.txt")
    person.tap("OK")
    person.waits_for("final.txt")


def test_a_day_by_what_is_visible_and_the_snapshot_undoes_it(
    phone: Phone, person: Person, guest_book: GuestBook
) -> None:
    device = phone.device
    device.shell.do("sh", "-c", "echo draft > /sdcard/Documents/draft.txt")
    device.snapshots.save(CLEAN)
    device.snapshots.load(CLEAN)
    before = databases(phone)

    makes_a_contact(person)
    sends_a_message(person)
    signs_the_guest_book(person, guest_book.server_address[1])
    turns_wifi_off(person)
    makes_an_appointment(person)
    device.console.send_sms("+15550999", "Your parcel is here")
    until(lambda: bool(device.notifications()), "a notification of the message")
    reads_a_notification(person)
    renames_a_file(person)

    sms = device.providers.query("content://sms", ["address", "body", "type"])
    assert {(row["address"], row["body"]) for row in sms} == {
        ("+15550123", "See you at 5, by the gate"),
        ("+15550999", "Your parcel is here"),
    }
    assert guest_book.signed == ["Ada"]
    assert device.settings.get("global", "wifi_on") == "0"
    events = device.providers.query("content://com.android.calendar/events", ["title"])
    assert [row["title"] for row in events] == ["Dentist"]
    assert device.files.exists("/sdcard/Documents/final.txt")
    assert databases(phone) != before

    device.snapshots.load(CLEAN)
    assert databases(phone) == before
    assert device.settings.get("global", "wifi_on") == "1"
    assert device.files.exists("/sdcard/Documents/draft.txt")
    assert not device.files.exists("/sdcard/Documents/final.txt")
