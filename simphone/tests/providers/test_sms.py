"""Conversations follow their messages, whoever writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from simphone.providers import sms
from simphone.providers.numbers import same
from simphone.world import World
from tests.phone import phone, run


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with phone(tmp_path) as world:
        yield world


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("+1 (555) 123-4567", "5551234567", True),
        ("0301234567", "+49301234567", True),
        ("5551234567", "9991234567", False),
        ("Bank", "bank", True),
        ("123", "0123", False),
        ("911", "911", True),
        ("Bank", "5551234", False),
        ("", "5551234", False),
    ],
)
def test_numbers_are_the_same_but_for_a_country_code(one: str, other: str, expected: bool) -> None:
    assert same(one, other) is expected
    assert same(other, one) is expected


async def test_two_spellings_of_a_number_are_one_conversation(world: World) -> None:
    sms.add(world, "+15551234567", "first", sms.INBOX, date_ms=1000, read=False)
    sms.add(world, "(555) 123-4567", "second", sms.SENT, date_ms=2000)
    [thread] = sms.threads(world)
    assert (thread.count, thread.snippet, thread.date_ms, thread.read) == (2, "second", 2000, False)
    assert [m.body for m in sms.messages(world, thread.id)] == ["first", "second"]
    sms.mark_read(world, thread.id)
    assert sms.threads(world)[0].read


async def test_a_conversation_goes_with_its_last_message_even_by_sqlite3(world: World) -> None:
    sms.add(world, "5551234", "one", sms.INBOX, date_ms=1)
    sms.add(world, "5551234", "two", sms.INBOX, date_ms=2)
    await run(world, "sqlite3", sms.PATH, "DELETE FROM sms WHERE body='two'", root=True)
    assert sms.threads(world)[0].snippet == "one"
    await run(world, "sqlite3", sms.PATH, "DELETE FROM sms", root=True)
    assert sms.threads(world) == []


async def test_a_deleted_conversation_is_gone_with_its_messages(world: World) -> None:
    sms.add(world, "5551234", "one", sms.INBOX)
    sms.delete_thread(world, sms.threads(world)[0].id)
    assert (await run(world, "content", "query", "--uri", "content://sms")).out == (
        "No result found.\n"
    )
