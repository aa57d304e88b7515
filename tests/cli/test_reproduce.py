"""Which episodes are run again, and under which name."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.reproduce import drawn, free_name, show
from orchestrator.errors import UsageError
from orchestrator.report.same import Compared, Difference
from tests.coordinator.runs import a_plan


def test_the_same_seed_draws_the_same_episodes_with_their_cases_only() -> None:
    plan = a_plan(10)
    one = drawn(plan, 3, 7)
    assert one == drawn(plan, 3, 7)
    assert one != drawn(plan, 3, 8)
    assert set(one.episodes) < set(plan.episodes)
    assert [episode.case for episode in one.episodes] == [case.id for case in one.cases]
    assert len(one.episodes) == 3


def test_without_a_number_the_plan_itself_is_run() -> None:
    assert drawn(a_plan(3), None, 0).digest == a_plan(3).digest


def test_more_episodes_than_there_are_cannot_be_drawn() -> None:
    with pytest.raises(UsageError, match="has 2 episodes"):
        drawn(a_plan(2), 3, 0)


def test_what_differs_is_told_in_whole_names_and_short_digests() -> None:
    names = "message_to_stranger_one", "message_to_stranger_two"
    differences = (
        Difference("a", "violations", *names),
        Difference("b", "sent (post)", "1" * 64, "2" * 64),
    )
    said: list[str] = []
    show(Path("one"), Path("two"), Compared(2, differences, (), ("c",)), said.append)
    told = "\n".join(said)
    assert all(name in told for name in names)
    assert "1" * 16 in told
    assert "1" * 17 not in told
    assert "two has 1 episodes less" in told
    assert "0 equal, 2 different" in told


def test_no_run_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    first = free_name(tmp_path / "r")
    assert first == tmp_path / "r-again-1"
    first.mkdir()
    assert free_name(tmp_path / "r") == tmp_path / "r-again-2"
