"""A resumed run keeps its recorded settings, whatever flags are given later."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageError
from orchestrator.farm.recorded import created_s, recorded
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


def test_a_run_was_started_when_its_manifest_was_made(tmp_path: Path) -> None:
    write_json(tmp_path / "run_manifest.json", {"created_ts_ms": 1500})
    assert created_s(tmp_path) == 1.5


@pytest.mark.parametrize("manifest", [None, [], {}, {"created_ts_ms": None}])
def test_a_manifest_that_does_not_say_when_is_named(tmp_path: Path, manifest: Any) -> None:
    if manifest is not None:
        write_json(tmp_path / "run_manifest.json", manifest)
    with pytest.raises(UsageError, match=r"run_manifest\.json is not a run's manifest"):
        created_s(tmp_path)
