"""Each step of a setup is confirmed by the phone itself, or the attempt ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.cases.model import SetupStep
from orchestrator.device.faults import DeviceFault
from orchestrator.device.phone import Device
from orchestrator.episode.setup import SetupNotSeen, set_up
from tests.whole.conftest import Phone

PATIENCE_S = 60.0
CONTACTS = "content://com.android.contacts"
ODD = "It's 5 o'clock, \"you\" & $HOME; café 🙂"


def do(device: Device, kind: str, **wanted: Any) -> None:
    done = set_up(device, SetupStep.model_validate({kind: wanted}), PATIENCE_S)
    assert done["step"] == kind
    assert done["did"]
    assert done["proof"]


def rows(device: Device, uri: str, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[c] for c in columns) for row in device.providers.query(uri, columns)]


def test_every_kind_of_step_is_seen_on_the_phone(phone: Phone) -> None:
    device = phone.device
    do(device, "setting", namespace="system", name="screen_brightness", value="17")
    assert device.settings.get("system", "screen_brightness") == "17"

    do(device, "folder", path="/sdcard/Documents/new folder")
    assert device.files.exists("/sdcard/Documents/new folder")

    do(device, "file", path="/sdcard/Documents/deep/down/a b.txt", text=ODD)
    assert device.files.read("/sdcard/Documents/deep/down/a b.txt").decode() == ODD

    do(device, "sms", **{"from": "+15550123", "text": ODD})
    do(device, "sms", **{"from": "+15550123", "text": ODD})
    assert rows(device, "content://sms", "address", "body", "type") == [("+15550123", ODD, "1")] * 2

    do(device, "contact", name="Ada O'Neil", phone="+15550100", email="a@b.example", note=ODD)
    do(device, "contact", name="Bob")
    names = rows(device, f"{CONTACTS}/contacts", "display_name")
    assert sorted(names, key=str) == [("Ada O'Neil",), ("Bob",)]
    assert ("Ada O'Neil", "+15550100") in rows(device, f"{CONTACTS}/data", "display_name", "data1")
    assert ("Ada O'Neil", ODD) in rows(device, f"{CONTACTS}/data", "display_name", "data1")

    do(device, "event", title=ODD, start="2031-05-12 09:00", minutes=30, location="Room 1")
    columns = ("title", "dtstart", "dtend", "eventLocation")
    assert rows(device, "content://com.android.calendar/events", *columns) == [
        (ODD, "1936342800000", "1936344600000", "Room 1")
    ]

    do(device, "notification", title="Bank: it's due", text=ODD, tag="due")
    [due] = [each for each in device.notifications() if each.tag == "due"]
    assert (due.title, due.text) == ("Bank: it's due", ODD)

    run, check = "echo 'a b' > /data/local/x", "cat /data/local/x"
    do(device, "shell", run=run, check=check, expect="a b", root=True)
    assert device.files.read("/data/local/x", root=True) == b"a b\n"


def unseen(call: Callable[[], object]) -> str:
    with pytest.raises(SetupNotSeen) as error:
        call()
    return str(error.value)


def test_a_step_that_is_never_seen_is_said_so(booted: Phone) -> None:
    shell = {"run": "true", "check": "echo no", "expect": "yes"}
    step = SetupStep.model_validate({"shell": shell})
    assert "shell: true was not seen within 0.2 s" in unseen(
        lambda: set_up(booted.device, step, 0.2)
    )


def test_a_message_that_the_phone_does_not_take_is_not_seen(phone: Phone) -> None:
    """The console says OK to a message for a phone in airplane mode."""
    phone.device.shell.do("cmd", "connectivity", "airplane-mode", "enable")
    step = SetupStep.model_validate({"sms": {"from": "+1555", "text": "hi"}})
    assert "a message from +1555" in unseen(lambda: set_up(phone.device, step, 0.5))


def test_an_event_without_a_calendar_is_said_so(phone: Phone) -> None:
    calendars = "content://com.android.calendar/calendars"
    phone.device.shell.do("content", "delete", "--uri", calendars)
    step = SetupStep.model_validate({"event": {"title": "x", "start": "2031-05-12 09:00"}})
    assert "no calendar" in unseen(lambda: set_up(phone.device, step, 0.2))


@pytest.mark.parametrize(
    "step",
    [
        {"shell": {"run": "exit 3", "check": "true", "expect": ""}},
        {"file": {"path": "/system/x.txt", "text": "x"}},
        {"folder": {"path": "/system/x"}},
        {"sms": {"from": "Bank", "text": "hi"}},
    ],
)
def test_a_step_that_the_phone_refuses_is_a_fault(booted: Phone, step: dict[str, Any]) -> None:
    with pytest.raises(DeviceFault):
        set_up(booted.device, SetupStep.model_validate(step), 0.2)
