"""The fleet contract on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.image.golden_cache import GoldenImage
from tests.fleet.contract import FleetContract
from tests.fleet.local_trial import LocalTrial


@pytest.fixture
def trial(image: GoldenImage, tmp_path: Path) -> Iterator[LocalTrial]:
    trial = LocalTrial(tmp_path, image.golden)
    yield trial
    assert trial.left() == []


class TestLocalFleet(FleetContract):
    pass
