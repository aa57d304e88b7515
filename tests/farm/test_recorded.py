"""A resumed run keeps its recorded settings, whatever flags are given later."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from orchestrator.farm.recorded import recorded
from orchestrator.files import write_json
from orchestrator.settings import Limits
from tests.coordinator.runs import a_plan


@pytest.mark.parametrize(("told", "noise"), [({}, None), ({"noise": 3}, 3)])
def test_its_limits_and_its_phones_noise_are_the_manifest_s(
    tmp_path: Path, told: dict[str, Any], noise: int | None
) -> None:
    limits = Limits(attempts=2)
    facts = {"limits": asdict(limits), "cases_folder": "/nowhere", "variants": ["benign"], **told}
    manifest = {
        "reproducibility": facts,
        "execution_mode": "local",
        "android": {"image_lock": {"digest": "1"}},
        "agent": {"confinement": {"confined": True, "ports": [8000]}},
    }
    write_json(tmp_path / "run_manifest.json", manifest)
    settings = recorded(tmp_path, a_plan(1)).settings
    assert (settings.limits, settings.noise) == (limits, noise)
    assert (settings.variants, settings.agent_ports) == (("benign",), (8000,))
