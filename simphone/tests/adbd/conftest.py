"""A private adb server, and a phone that it has found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.adbd.stand_in import AdbServer, Phone, adb_server, running_phone


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdbServer]:
    with adb_server(tmp_path_factory.mktemp("adb_home")) as running:
        yield running


@pytest.fixture
async def phone(tmp_path: Path, server: AdbServer) -> AsyncIterator[Phone]:
    folder = tmp_path / "avd"
    folder.mkdir()
    async with running_phone(folder, server) as running:
        await running.connect()
        yield running
