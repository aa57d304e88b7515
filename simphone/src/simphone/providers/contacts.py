"""People: content://com.android.contacts over contacts2.db.

As on Android a person is rows of `data` (a name, numbers, addresses) under a raw contact, and
the `contacts` row is derived from them; here one raw contact is one contact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .contacts_schema import EMAIL, NAME, NOTE, PHONE, SCHEMA
from .numbers import normalized, same

if TYPE_CHECKING:
    from ..world import World

PATH = "/data/data/com.android.providers.contacts/databases/contacts2.db"


@dataclass(frozen=True)
class Contact:
    id: int
    name: str
    phones: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    note: str = ""
    starred: bool = False

    @property
    def phone(self) -> str:
        return self.phones[0] if self.phones else ""

    @property
    def email(self) -> str:
        return self.emails[0] if self.emails else ""


def create(world: World) -> None:
    world.databases.script(PATH, SCHEMA)


def contacts(world: World) -> list[Contact]:
    """Everybody, by name."""
    sql = """SELECT c._id AS id, r.display_name AS name, c.starred, d.data1, m.mimetype
             FROM contacts c JOIN raw_contacts r ON r._id = c.name_raw_contact_id
             LEFT JOIN data d ON d.raw_contact_id = r._id
             LEFT JOIN mimetypes m ON m._id = d.mimetype_id
             WHERE r.deleted = 0 ORDER BY d._id"""
    found: dict[int, Contact] = {}
    for row in world.databases.query(PATH, sql):
        fresh = Contact(row["id"], str(row["name"] or ""), starred=bool(row["starred"]))
        known = found.get(row["id"], fresh)
        text = str(row["data1"] or "")
        if row["mimetype"] == PHONE:
            known = replace(known, phones=(*known.phones, text))
        elif row["mimetype"] == EMAIL:
            known = replace(known, emails=(*known.emails, text))
        elif row["mimetype"] == NOTE:
            known = replace(known, note=text)
        found[row["id"]] = known
    return sorted(found.values(), key=lambda contact: (contact.name.casefold(), contact.id))


def contact(world: World, contact_id: int) -> Contact | None:
    return next((each for each in contacts(world) if each.id == contact_id), None)


def by_number(world: World, number: str) -> Contact | None:
    """Who has this number."""
    return next((c for c in contacts(world) if any(same(p, number) for p in c.phones)), None)


def by_name(world: World, name: str) -> Contact | None:
    return next((c for c in contacts(world) if c.name.casefold() == name.casefold()), None)


def name_of(world: World, number: str) -> str:
    """The contact's name, or the number as it is spelled."""
    known = by_number(world, number)
    return known.name if known else number


def search(world: World, text: str) -> list[Contact]:
    """Whose name, number or address contains the text; everybody for an empty one."""
    wanted = text.strip().casefold()
    digits = "".join(char for char in wanted if char.isdigit())
    return [
        each
        for each in contacts(world)
        if wanted in each.name.casefold()
        or any(wanted in email.casefold() for email in each.emails)
        or (digits and any(digits in normalized(phone) for phone in each.phones))
    ]


def add_contact(world: World, name: str, phone: str = "", email: str = "", note: str = "") -> int:
    """A new local contact; returns its id in `contacts`."""
    raw = world.databases.insert(PATH, "raw_contacts", {"account_id": 1})
    _write_data(world, raw, _data(name, phone, email, note))
    refresh(world, raw)
    return contact_of(world, raw)


def update_contact(
    world: World, contact_id: int, name: str, phone: str = "", email: str = "", note: str = ""
) -> None:
    """Changes the name, the note, the first number and the first address; further ones stay."""
    raw = raw_of(world, contact_id)
    wanted = _data(name, phone, email, note)
    sql = """SELECT min(d._id) AS id FROM data d JOIN mimetypes m ON m._id = d.mimetype_id
             WHERE d.raw_contact_id = ? AND m.mimetype = ?"""
    for mimetype in (NAME, PHONE, EMAIL, NOTE):
        known = world.databases.query(PATH, sql, (raw, mimetype))[0]["id"]
        values = wanted.get(mimetype)
        if known is None:
            _write_data(world, raw, {mimetype: values} if values else {})
        elif values is None:
            world.databases.execute(PATH, "DELETE FROM data WHERE _id = ?", (known,))
        else:
            pairs = ", ".join(f"{column} = ?" for column in values)
            change = f"UPDATE data SET {pairs} WHERE _id = ?"
            world.databases.execute(PATH, change, (*values.values(), known))
    refresh(world, raw)


def delete_contact(world: World, contact_id: int) -> None:
    raw = raw_of(world, contact_id)
    world.databases.execute(PATH, "DELETE FROM raw_contacts WHERE _id = ?", (raw,))
    refresh(world, raw)


def set_starred(world: World, contact_id: int, *, starred: bool) -> None:
    sql = "UPDATE contacts SET starred = ? WHERE _id = ?"
    world.databases.execute(PATH, sql, (int(starred), contact_id))
    sql = "UPDATE raw_contacts SET starred = ? WHERE contact_id = ?"
    world.databases.execute(PATH, sql, (int(starred), contact_id))


def raw_of(world: World, contact_id: int) -> int:
    sql = "SELECT name_raw_contact_id AS raw FROM contacts WHERE _id = ?"
    rows = world.databases.query(PATH, sql, (contact_id,))
    return int(rows[0]["raw"]) if rows else 0


def contact_of(world: World, raw: int) -> int:
    rows = world.databases.query(PATH, "SELECT contact_id FROM raw_contacts WHERE _id = ?", (raw,))
    return int(rows[0]["contact_id"] or 0) if rows else 0


def mimetype_id(world: World, mimetype: str) -> int:
    sql = "SELECT _id FROM mimetypes WHERE mimetype = ?"
    if rows := world.databases.query(PATH, sql, (mimetype,)):
        return int(rows[0]["_id"])
    return world.databases.insert(PATH, "mimetypes", {"mimetype": mimetype})


def refresh(world: World, raw: int) -> None:
    """Derive the contact of a raw contact again from its data; none for one that is gone."""
    databases = world.databases
    rows = databases.query(PATH, "SELECT * FROM raw_contacts WHERE _id = ? AND deleted = 0", (raw,))
    if not rows:
        databases.execute(PATH, "DELETE FROM contacts WHERE name_raw_contact_id = ?", (raw,))
        databases.execute(PATH, "DELETE FROM data WHERE raw_contact_id = ?", (raw,))
        databases.execute(PATH, "DELETE FROM phone_lookup WHERE raw_contact_id = ?", (raw,))
        return
    sql = """SELECT d._id AS id, d.data1, m.mimetype FROM data d
             JOIN mimetypes m ON m._id = d.mimetype_id WHERE d.raw_contact_id = ? ORDER BY d._id"""
    data = databases.query(PATH, sql, (raw,))
    # A nameless person goes by a number or an address.
    kinds = (NAME, PHONE, EMAIL)
    named = (d["data1"] for kind in kinds for d in data if d["mimetype"] == kind and d["data1"])
    name = next(named, None)
    phones = [(d["id"], str(d["data1"])) for d in data if d["mimetype"] == PHONE and d["data1"]]
    contact_id = rows[0]["contact_id"]
    if contact_id is None:
        row = {"name_raw_contact_id": raw, "lookup": f"0r{raw}-{raw:08X}"}
        contact_id = databases.insert(PATH, "contacts", row)
    sql = "UPDATE raw_contacts SET contact_id = ?, display_name = ?, sort_key = ? WHERE _id = ?"
    databases.execute(PATH, sql, (contact_id, name, name, raw))
    sql = "UPDATE contacts SET has_phone_number = ?, contact_last_updated_timestamp = ? WHERE _id=?"
    databases.execute(PATH, sql, (int(bool(phones)), world.clock.now_ms(), contact_id))
    databases.execute(PATH, "DELETE FROM phone_lookup WHERE raw_contact_id = ?", (raw,))
    for data_id, phone in phones:
        plain = normalized(phone)
        databases.execute(
            PATH,
            "INSERT INTO phone_lookup VALUES (?, ?, ?, ?)",
            (data_id, raw, plain, plain[-7:][::-1]),
        )


def _data(name: str, phone: str, email: str, note: str) -> dict[str, dict[str, str]]:
    """What a person's rows of `data` say, by their mimetype."""
    given, _, family = name.partition(" ")
    rows = {NAME: {"data1": name, "data2": given, "data3": family}}
    if phone:
        rows[PHONE] = {"data1": phone, "data2": "2", "data4": normalized(phone)}
    if email:
        rows[EMAIL] = {"data1": email, "data2": "1"}
    if note:
        rows[NOTE] = {"data1": note}
    return rows


def _write_data(world: World, raw: int, rows: dict[str, dict[str, str]]) -> None:
    for mimetype, values in rows.items():
        row = {"raw_contact_id": raw, "mimetype_id": mimetype_id(world, mimetype), **values}
        world.databases.insert(PATH, "data", row)
