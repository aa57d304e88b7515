"""Performs the setup steps of a case and proves the effect of each.

A phone may accept a write and ignore it: every step is performed once, and its effect is polled for
until it is seen. A step whose effect is never seen ends the attempt.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

from ..cases.model import (
    AddContact,
    AddEvent,
    MakeFolder,
    PostNotification,
    PutFile,
    ReceiveSms,
    RunShell,
    SetSetting,
    SetupStep,
)
from ..cases.templates import milliseconds
from ..device.phone import Device
from ..device.providers import quoted
from ..errors import EmufarmError

SMS = "content://sms/inbox"
RAW_CONTACTS = "content://com.android.contacts/raw_contacts"
DATA = "content://com.android.contacts/data"
CALENDARS = "content://com.android.calendar/calendars"
EVENTS = "content://com.android.calendar/events"
MIMETYPE = "vnd.android.cursor.item/"
MOBILE, HOME = 2, 1  # the type of a phone number, the type of an address
MAY_WRITE = 500  # calendar_access_level: contributor
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 0.5
RUN_S = 60.0

Postcondition = Callable[[], str | None]  # what was seen; None if the effect is not there yet


class SetupNotSeen(EmufarmError):
    """The effect of a step was not seen; the text names the step."""


def set_up(device: Device, step: SetupStep, seconds: float) -> dict[str, Any]:
    """Performs one step and waits for its effect; returns the fields of its event."""
    started = time.monotonic()
    wanted = getattr(step, step.kind)
    did, proof = _PERFORM[step.kind](device, wanted)
    seen, polls = _until(proof, seconds, f"{step.kind}: {did}")
    return {
        "step": step.kind,
        "did": did,
        "proof": seen,
        "polls": polls,
        "duration_ms": round((time.monotonic() - started) * 1000),
    }


def _until(proof: Postcondition, seconds: float, what: str) -> tuple[str, int]:
    deadline, wait, polls = time.monotonic() + seconds, FIRST_PAUSE_S, 0
    while True:
        # One last check after the time-out, so that a slow phone does not count as a failed one.
        last = time.monotonic() >= deadline
        polls += 1
        seen = proof()
        if seen is not None:
            return seen, polls
        if last:
            raise SetupNotSeen(f"{what} was not seen within {seconds:g} s")
        time.sleep(max(0.0, min(wait, deadline - time.monotonic())))
        wait = min(2 * wait, LONGEST_PAUSE_S)


def _seen(text: str, holds: Callable[[], bool]) -> Postcondition:
    return lambda: text if holds() else None


def _setting(device: Device, wanted: SetSetting) -> tuple[str, Postcondition]:
    device.settings.put(wanted.namespace, wanted.name, wanted.value)
    return f"{wanted.namespace} {wanted.name} := {wanted.value!r}", _seen(
        f"it is {wanted.value!r}",
        lambda: device.settings.get(wanted.namespace, wanted.name) == wanted.value,
    )


def _folder(device: Device, wanted: MakeFolder) -> tuple[str, Postcondition]:
    device.shell.do("mkdir", "-p", wanted.path)
    is_folder = ("test", "-d", wanted.path)
    return wanted.path, _seen("it is a folder", lambda: device.shell.query(*is_folder).ok)


def _file(device: Device, wanted: PutFile) -> tuple[str, Postcondition]:
    data = wanted.text.encode()
    digest = hashlib.sha256(data).hexdigest()
    device.shell.do("mkdir", "-p", wanted.path.rpartition("/")[0] or "/")
    device.files.push(data, wanted.path)
    proof = _seen(f"sha256 {digest}", lambda: device.files.sha256(wanted.path) == digest)
    return f"{wanted.path}, {len(data)} bytes", proof


def _sms(device: Device, wanted: ReceiveSms) -> tuple[str, Postcondition]:
    """Delivered by the radio, since the provider ignores inserts by any but the messages app."""
    where = f"address={quoted(wanted.sender)} AND body={quoted(wanted.text)}"
    proof = _one_more(device, SMS, where)
    device.console.send_sms(wanted.sender, wanted.text)
    return f"a message from {wanted.sender}", proof


def _contact(device: Device, wanted: AddContact) -> tuple[str, Postcondition]:
    before = _ids(device, RAW_CONTACTS)
    device.providers.insert(RAW_CONTACTS, {"account_name": None, "account_type": None})
    new = _ids(device, RAW_CONTACTS) - before
    if len(new) != 1:
        raise SetupNotSeen(f"contact {wanted.name!r}: {len(new)} raw contacts are new, not one")
    raw = int(*new)
    rows: list[dict[str, str | int]] = [{"mimetype": f"{MIMETYPE}name", "data1": wanted.name}]
    if wanted.phone:
        rows.append({"mimetype": f"{MIMETYPE}phone_v2", "data1": wanted.phone, "data2": MOBILE})
    if wanted.email:
        rows.append({"mimetype": f"{MIMETYPE}email_v2", "data1": wanted.email, "data2": HOME})
    if wanted.note:
        rows.append({"mimetype": f"{MIMETYPE}note", "data1": wanted.note})
    for row in rows:
        device.providers.insert(DATA, {**row, "raw_contact_id": raw})

    def stored(row: dict[str, str | int]) -> bool:
        columns = [f"{name}={quoted(str(row[name]))}" for name in ("mimetype", "data1")]
        where = " AND ".join([f"raw_contact_id={raw}", *columns])
        return len(_ids(device, DATA, where)) == 1

    named = f"_id={raw} AND display_name={quoted(wanted.name)}"
    # Each row belongs to the new contact, and the contact has its name.
    return f"contact {wanted.name!r}", _seen(
        f"{len(rows)} data rows",
        lambda: all(stored(row) for row in rows) and bool(_ids(device, RAW_CONTACTS, named)),
    )


def _event(device: Device, wanted: AddEvent) -> tuple[str, Postcondition]:
    calendars = _ids(device, CALENDARS, f"calendar_access_level>={MAY_WRITE}")
    if not calendars:
        raise SetupNotSeen(f"event {wanted.title!r}: the phone has no calendar to write into")
    begin = milliseconds(wanted.start)
    proof = _one_more(device, EVENTS, f"title={quoted(wanted.title)} AND dtstart={begin}")
    values: dict[str, str | int] = {
        "calendar_id": min(calendars),
        "title": wanted.title,
        "dtstart": begin,
        "dtend": begin + wanted.minutes * 60_000,
        "eventTimezone": "UTC",
        "eventLocation": wanted.location,
        "description": wanted.description,
    }
    device.providers.insert(EVENTS, {name: value for name, value in values.items() if value != ""})
    return f"event {wanted.title!r} at {wanted.start}", proof


def _notification(device: Device, wanted: PostNotification) -> tuple[str, Postcondition]:
    device.shell.do("cmd", "notification", "post", "-t", wanted.title, wanted.tag, wanted.text)
    posted = (wanted.tag, wanted.title, wanted.text)

    def proof() -> str | None:
        shown = (n for n in device.notifications() if (n.tag, n.title, n.text) == posted)
        return next((f"shown by {each.package}" for each in shown), None)

    return f"notification {wanted.tag}: {wanted.title!r}", proof


def _shell(device: Device, wanted: RunShell) -> tuple[str, Postcondition]:
    device.shell.do("sh", "-c", wanted.run, root=wanted.root, timeout=RUN_S)

    def holds() -> bool:
        result = device.shell.query("sh", "-c", wanted.check, root=wanted.root)
        return result.text.strip() == wanted.expect

    return wanted.run, _seen(f"the check printed {wanted.expect!r}", holds)


def _one_more(device: Device, uri: str, where: str) -> Postcondition:
    """Proves that there is one row more than now."""
    before = len(_ids(device, uri, where))
    text = f"{before + 1} rows, {before} before"
    return _seen(text, lambda: len(_ids(device, uri, where)) == before + 1)


def _ids(device: Device, uri: str, where: str | None = None) -> set[int]:
    return {int(str(row["_id"])) for row in device.providers.query(uri, ["_id"], where=where)}


_PERFORM: dict[str, Callable[[Device, Any], tuple[str, Postcondition]]] = {
    "setting": _setting,
    "file": _file,
    "folder": _folder,
    "sms": _sms,
    "contact": _contact,
    "event": _event,
    "notification": _notification,
    "shell": _shell,
}
