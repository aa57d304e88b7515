"""Messages and calls take their time, and leave the rows that a real phone leaves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from simphone.providers import calllog, contacts, sms
from simphone.services.telephony import IDLE, OFFHOOK, RINGING
from simphone.world import World
from tests.phone import phone, until


@pytest.fixture(params=[None, 7], ids=["plain", "noisy"])
async def world(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with phone(tmp_path, request.param) as world:
        yield world


def box(world: World, row: int) -> int:
    found = sms.message(world, row)
    assert found is not None
    return found.type


def types(world: World) -> list[int]:
    return [call.type for call in calllog.recent(world)]


async def test_a_sent_message_is_queued_then_in_the_outbox_then_sent(world: World) -> None:
    row = world.telephony.send_sms("+15551234", "hello")
    assert box(world, row) == sms.QUEUED
    seen = [sms.QUEUED]

    def sent() -> bool:
        if box(world, row) != seen[-1]:
            seen.append(box(world, row))
        return seen[-1] == sms.SENT

    await until(world, sent)
    assert seen == [sms.QUEUED, sms.OUTBOX, sms.SENT]


async def test_a_message_to_a_phone_in_airplane_mode_comes_when_it_can(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simphone.services.telephony.RETRY_S", 0.01)
    world.settings.put("global", "airplane_mode_on", "1")
    tries: list[object] = []
    monkeypatch.setattr(type(world.telephony), "radio_on", property(lambda _: tries.append(1)))
    world.telephony.receive_sms("5551234", "hello")
    await until(world, lambda: len(tries) > 2)
    assert sms.threads(world) == []
    monkeypatch.undo()
    world.settings.put("global", "airplane_mode_on", "0")
    await until(world, lambda: bool(sms.threads(world)))


async def test_in_airplane_mode_a_message_fails_and_nobody_can_be_called(world: World) -> None:
    world.settings.put("global", "airplane_mode_on", "1")
    row = world.telephony.send_sms("5551234", "hello")
    await until(world, lambda: box(world, row) == sms.FAILED)
    assert not world.telephony.dial("5551234")
    assert not world.telephony.ring("5551234")


async def test_a_message_arrives_later_with_its_thread_and_notification(world: World) -> None:
    contacts.add_contact(world, "Ada", "+1 (555) 123-4567")
    world.telephony.receive_sms("5551234567", "Order 42, shipped")
    assert sms.threads(world) == []
    await until(world, lambda: bool(sms.threads(world)))
    [thread] = sms.threads(world)
    assert (thread.address, thread.snippet, thread.read) == (
        "5551234567",
        "Order 42, shipped",
        False,
    )
    [posted] = world.notifications.all()
    assert (posted.package, posted.title, posted.text) == (
        "com.android.messaging",
        "Ada",
        "Order 42, shipped",
    )
    assert json.loads(posted.args) == {"thread_id": thread.id}
    assert any(line.tag == "GsmInboundSmsHandler" for line in world.logcat.lines())


async def test_an_outgoing_call_is_logged_only_after_it_ended(world: World) -> None:
    telephony = world.telephony
    assert telephony.dial("5550000")
    assert telephony.call_state == OFFHOOK
    assert not telephony.dial("5551111")
    assert not telephony.ring("5551111")
    await until(world, lambda: telephony.call is not None and telephony.call.state == "active")
    assert types(world) == []
    assert telephony.hang_up()
    assert telephony.call_state == IDLE
    assert types(world) == []
    await until(world, lambda: types(world) == [calllog.OUTGOING])
    assert not telephony.hang_up()


async def test_a_call_that_rings_out_is_missed_and_notified(world: World) -> None:
    telephony = world.telephony
    assert telephony.ring("5550000")
    assert telephony.call_state == RINGING
    assert [posted.text for posted in world.notifications.all()] == ["Incoming call"]
    assert not telephony.cancel("5559999")
    assert telephony.cancel("5550000")
    assert world.notifications.all() == []
    await until(world, lambda: types(world) == [calllog.MISSED])
    assert [posted.text for posted in world.notifications.all()] == ["Missed call"]


async def test_a_ringing_call_that_the_user_ends_is_rejected(world: World) -> None:
    world.telephony.ring("5550000")
    world.telephony.hang_up()
    await until(world, lambda: types(world) == [calllog.REJECTED])


async def test_an_accepted_call_is_an_incoming_one(world: World) -> None:
    world.telephony.ring("5550000")
    assert world.telephony.accept("5550000")
    assert not world.telephony.accept("5550000")
    assert world.telephony.call_state == OFFHOOK
    world.telephony.cancel()
    await until(world, lambda: types(world) == [calllog.INCOMING])


async def test_a_busy_line_ends_a_dialed_call(world: World) -> None:
    world.telephony.dial("5550000")
    assert world.telephony.busy("5550000")
    await until(world, lambda: types(world) == [calllog.OUTGOING])
    assert calllog.recent(world)[0].duration_s == 0


async def test_a_call_and_its_pending_effects_survive_a_snapshot(world: World) -> None:
    world.telephony.receive_sms("5551234", "late")
    world.telephony.ring("5550000")
    memory = json.loads(json.dumps(world.save_memory()))
    world.telephony.hang_up()
    await until(world, lambda: bool(sms.threads(world)) and bool(types(world)))
    world.load_memory(memory)
    assert world.telephony.call is not None
    assert world.telephony.call.number == "5550000"
    await until(world, lambda: len(sms.messages(world, sms.threads(world)[0].id)) == 2)


async def test_a_dropped_table_costs_the_message_but_not_the_phone(world: World) -> None:
    world.databases.execute(sms.PATH, "DROP TABLE sms")
    world.telephony.receive_sms("5551234", "lost")
    world.telephony.ring("5550000")
    world.telephony.cancel()
    await until(world, lambda: types(world) == [calllog.MISSED])
    assert any(line.tag == "AndroidRuntime" for line in world.logcat.lines())
