"""A phone without its wires, and a web server on its host."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from simphone.apps import APPS
from simphone.disk import Disk
from simphone.effect_table import HANDLERS
from simphone.first_boot import create_disk
from simphone.world import World
from tests.web.site import Site, serving


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
