"""A phone with its apps, at its home screen, without wires."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestrator.sim import system
from orchestrator.sim.apps import APPS
from orchestrator.sim.disk import Disk
from orchestrator.sim.effect_table import HANDLERS
from orchestrator.sim.first_boot import create_disk
from orchestrator.sim.world import World
from tests.sim.programs.terminal import Terminal


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    phone = World(Disk(tmp_path / "userdata", tmp_path / "system"), APPS)
    phone.effects.bind(phone, HANDLERS)
    create_disk(phone)
    system.start_zygote(phone)
    system.start_framework(phone)
    system.show_home(phone)
    yield phone
    phone.effects.cancel()
    phone.databases.close()


@pytest.fixture
def terminal(world: World) -> Terminal:
    return Terminal(world)
