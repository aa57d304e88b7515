"""A phone without its wires, and a web server on its host."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from orchestrator.sim.apps import APPS
from orchestrator.sim.disk import Disk
from orchestrator.sim.effect_table import HANDLERS
from orchestrator.sim.first_boot import create_disk
from orchestrator.sim.world import World
from tests.sim.web.site import Site, serving


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    phone = World(Disk(tmp_path / "userdata", tmp_path / "system"), APPS)
    phone.effects.bind(phone, HANDLERS)
    create_disk(phone)
    yield phone
    phone.effects.cancel()
    phone.databases.close()


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site
