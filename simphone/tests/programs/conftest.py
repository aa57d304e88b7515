"""A phone with its apps, at its home screen, without wires."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from simphone.world import World
from tests.phone import with_apps
from tests.programs.terminal import Terminal


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with with_apps(tmp_path) as phone:
        yield phone


@pytest.fixture
def terminal(world: World) -> Terminal:
    return Terminal(world)
