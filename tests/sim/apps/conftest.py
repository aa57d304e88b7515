"""A phone without its wires, and a person in front of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestrator.sim.apps import APPS
from orchestrator.sim.disk import Disk
from orchestrator.sim.effect_table import HANDLERS
from orchestrator.sim.first_boot import create_disk
from orchestrator.sim.world import World
from tests.sim.apps.person import Person


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """Booted to its home screen. Asynchronous, because effects live on the running loop."""
    phone = World(Disk(tmp_path / "userdata", tmp_path / "system"), APPS)
    phone.effects.bind(phone, HANDLERS)
    create_disk(phone)
    phone.windows.home()
    yield phone
    phone.effects.cancel()
    phone.databases.close()


@pytest.fixture
def person(world: World) -> Person:
    return Person(world)
