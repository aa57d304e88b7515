"""Worker processes obey the limits of their run, which its manifest records."""

from __future__ import annotations

import json

import pytest

from orchestrator import Limits, run
from orchestrator.coordinator.transitions import EpisodeDecided
from tests.run.conftest import Farm
from tests.run.test_road import SMOKE


def test_an_attempt_has_the_limits_of_its_run(farm: Farm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a phone may take no time at all for the agent's steps."""
    for name, value in farm.env.items():
        monkeypatch.setenv(name, value)
    limits = Limits(device_s=1e-9)
    done = run(SMOKE, devices=1, backend="local", limits=limits, name="r", runs=farm.runs)
    manifest = json.loads((done.folder / "run_manifest.json").read_text())
    assert manifest["reproducibility"]["limits"]["device_s"] == limits.device_s
    (decided,) = [event for event in farm.events() if isinstance(event, EpisodeDecided)]
    assert decided.judgement.reason == "guest_lost"
    assert "took the phone" in decided.judgement.text
