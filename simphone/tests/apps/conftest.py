"""A phone without its wires, and a person in front of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from simphone.world import World
from tests.apps.person import Person
from tests.phone import with_apps


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with with_apps(tmp_path) as phone:
        yield phone


@pytest.fixture
def person(world: World) -> Person:
    return Person(world)
