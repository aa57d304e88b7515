"""How any app starts a call, a message or a contact from a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..services.telephony import DIALER
from ..ui.screen import Intent
from .system_ui import permitted

if TYPE_CHECKING:
    from ..world import World

CALL, DIAL = "android.intent.action.CALL", "android.intent.action.DIAL"
CALL_PHONE = "android.permission.CALL_PHONE"
PEOPLE = "content://com.android.contacts/contacts"
GREEN, RED = "#1E8E4E", "#C5352B"


def place_call(world: World, number: str) -> None:
    """Calls, once the person has allowed it; their yes goes on to the call itself."""
    intent = Intent(CALL, f"tel:{number}", package=DIALER)
    if permitted(world, DIALER, CALL_PHONE, "make and manage phone calls", then=intent):
        world.windows.launch(intent)


def new_contact(number: str) -> Intent:
    return Intent("android.intent.action.INSERT", PEOPLE, extras={"phone": number})


def new_message(number: str) -> Intent:
    return Intent("android.intent.action.SENDTO", f"smsto:{number}")
