"""The phone's content providers: real SQLite files, and the URIs that show them.

Apps and services call the plain functions of the family modules (sms, contacts, calllog,
calendar, media, downloads), each with the world first; `content` goes through PROVIDERS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import calendar, calllog, contacts, downloads, media, sms
from .contacts_provider import CONTACTS_PROVIDER
from .provider import Provider
from .settings import SETTINGS

if TYPE_CHECKING:
    from ..world import World

PROVIDERS: dict[str, Provider] = {
    provider.authority: provider
    for provider in (
        sms.SMS,
        sms.MMS,
        sms.MMS_SMS,
        CONTACTS_PROVIDER,
        calllog.CALL_LOG,
        calendar.CALENDAR,
        media.MEDIA_STORE,
        downloads.DOWNLOADS,
        SETTINGS,
    )
}


def create_all(world: World) -> None:
    """Every provider's database on a fresh disk; harmless on one that has them."""
    world.settings.create()
    for family in (sms, contacts, calllog, calendar, media, downloads):
        family.create(world)
