"""What a run is executed with follows from its plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

from orchestrator.farm.backends import ChosenBackend
from orchestrator.farm.job import Job
from orchestrator.farm.runner import make_plan
from orchestrator.pins.profile import load_profile
from orchestrator.settings import RunSettings


def test_no_agent_outwaits_a_device_that_it_switched_off() -> None:
    """It may think for its whole budget; that the end was its own doing can be asked even then."""
    settings, profile = RunSettings(), load_profile(RunSettings().profile)
    plan = make_plan(Path("cases/public"), settings)
    nowhere = cast(ChosenBackend, None)
    job = Job(Path("run"), plan, settings, profile, nowhere, 1)
    budgets = [case.case["budget"]["seconds"] for case in plan.cases]
    assert job.linger_s > max(budgets)
    shortest = min(plan.cases, key=lambda case: float(case.case["budget"]["seconds"]))
    assert replace(job, plan=replace(plan, cases=(shortest,))).linger_s < job.linger_s
