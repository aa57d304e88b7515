"""content://com.android.contacts: which URI shows which rows of contacts2.db."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import contacts
from .contacts_schema import CONTACTS, DATA, EMAIL, PHONE, RAW_CONTACTS
from .numbers import normalized
from .provider import (
    ILLEGAL_ARGUMENT,
    Provider,
    ProviderError,
    Result,
    Route,
    Table,
    Values,
    Wanted,
)
from .uri import Uri

if TYPE_CHECKING:
    from ..world import World

_RAW = Table(
    "raw_contacts",
    RAW_CONTACTS,
    view="view_raw_contacts",
    readonly=frozenset(("_id", "contact_id", "account_name", "account_type", "display_name")),
)
_CONTACTS = Table("contacts", CONTACTS, view="view_contacts")
_DATA = Table("data", DATA, view="view_data", readonly=frozenset(("_id", "mimetype")))
_PHONES = Table("data", DATA, view="view_data", where=f"mimetype = '{PHONE}'")
_EMAILS = Table("data", DATA, view="view_data", where=f"mimetype = '{EMAIL}'")


class ContactsProvider(Provider):
    def query(self, world: World, uri: Uri, wanted: Wanted) -> Result:
        if len(uri.path) == 2 and uri.path[0] == "phone_lookup":
            known = contacts.by_number(world, normalized(uri.path[1]))
            uri = Uri(uri.text, uri.authority, ("contacts", str(known.id if known else 0)))
        return super().query(world, uri, wanted)

    def checked(self, world: World, uri: Uri, table: Table, values: Values) -> Values:
        if table.name == "contacts":
            raise ProviderError(
                "java.lang.UnsupportedOperationException",
                "Aggregate contacts are created automatically",
            )
        if table.name == "raw_contacts":
            kept = {k: v for k, v in values.items() if k not in ("account_name", "account_type")}
            return {"account_id": self._account(world, values), **kept}
        mimetype = values.get("mimetype")
        if not mimetype:
            raise ProviderError(ILLEGAL_ARGUMENT, "mimetype is required")
        if values.get("raw_contact_id") is None:
            raise ProviderError(ILLEGAL_ARGUMENT, "raw_contact_id is required")
        kept = {name: value for name, value in values.items() if name != "mimetype"}
        return {"mimetype_id": contacts.mimetype_id(world, str(mimetype)), **kept}

    def delete(self, world: World, uri: Uri, where: str = "", uid: int = 0) -> int:
        table, _, _ = self.find(world, uri)
        if table.name != "data":
            column = "name_raw_contact_id" if table.name == "contacts" else "_id"
            gone = super().query(world, uri, Wanted((column,), where)).rows
            for (raw,) in gone:
                sql = "DELETE FROM raw_contacts WHERE _id = ?"
                world.databases.execute(self.database, sql, (raw,))
                contacts.refresh(world, int(raw))
            return len(gone)
        touched = super().query(world, uri, Wanted(("raw_contact_id",), where)).rows
        deleted = super().delete(world, uri, where, uid)
        for raw in {int(row[0]) for row in touched}:
            contacts.refresh(world, raw)
        return deleted

    def written(self, world: World, table: Table, kind: str, ids: Sequence[int]) -> None:
        if table.name == "raw_contacts":
            raws = set(ids)
        elif table.name == "data":
            marks = ",".join("?" for _ in ids)
            sql = f"SELECT DISTINCT raw_contact_id AS raw FROM data WHERE _id IN ({marks})"
            raws = {int(row["raw"]) for row in world.databases.query(self.database, sql, ids)}
        else:
            raws = set()
        for raw in raws:
            contacts.refresh(world, raw)

    def _account(self, world: World, values: Values) -> int:
        name, kind = values.get("account_name") or None, values.get("account_type") or None
        if name is None and kind is None:
            return 1
        sql = "SELECT _id FROM accounts WHERE account_name IS ? AND account_type IS ?"
        if rows := world.databases.query(self.database, sql, (name, kind)):
            return int(rows[0]["_id"])
        row = {"account_name": name, "account_type": kind}
        return world.databases.insert(self.database, "accounts", row)


CONTACTS_PROVIDER = ContactsProvider(
    "com.android.contacts",
    contacts.PATH,
    [
        Route("contacts", _CONTACTS),
        Route("contacts/#", _CONTACTS),
        Route("contacts/#/data", _DATA, by="contact_id"),
        Route("contacts/lookup/*", _CONTACTS, by="lookup"),
        Route("raw_contacts", _RAW),
        Route("raw_contacts/#", _RAW),
        Route("raw_contacts/#/data", _DATA, by="raw_contact_id"),
        Route("data", _DATA),
        Route("data/#", _DATA),
        Route("data/phones", _PHONES),
        Route("data/phones/#", _PHONES),
        Route("data/emails", _EMAILS),
        Route("data/emails/#", _EMAILS),
    ],
)
