"""Reproducing a run: which episodes are drawn, and the new run's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.farm.reproduction import draw, free_name
from tests.coordinator.runs import a_plan


def test_the_same_seed_draws_the_same_episodes_with_their_cases_only() -> None:
    plan = a_plan(10)
    one = draw(plan, 3, 7)
    assert one == draw(plan, 3, 7)
    assert one != draw(plan, 3, 8)
    assert set(one.episodes) < set(plan.episodes)
    assert [episode.case for episode in one.episodes] == [case.id for case in one.cases]
    assert len(one.episodes) == 3


def test_without_a_number_the_plan_itself_is_run() -> None:
    assert draw(a_plan(3), None, 0).digest == a_plan(3).digest


def test_more_episodes_than_there_are_cannot_be_draw() -> None:
    with pytest.raises(UsageError, match="has 2 episodes"):
        draw(a_plan(2), 3, 0)


def test_no_run_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    first = free_name(tmp_path / "r")
    assert first == tmp_path / "r-again-1"
    first.mkdir()
    assert free_name(tmp_path / "r") == tmp_path / "r-again-2"
