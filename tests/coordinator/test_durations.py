"""The expected duration of an episode."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.coordinator import durations
from orchestrator.coordinator.transitions import AttemptCommitted, RunOpened
from orchestrator.errors import UsageError
from orchestrator.files import write_json
from orchestrator.outcome import Blame, Judgement, Outcome, Phase
from tests.coordinator.runs import a_plan, opened_journal


def test_the_known_have_their_mean_and_the_unknown_the_mean_of_those() -> None:
    episodes = a_plan(3).episodes
    known = {("case_0", "benign"): 3.0, ("case_1", "benign"): 9.0}
    assert list(durations.expectations(episodes, known).values()) == [3.0, 9.0, 6.0]


def test_without_history_the_budget_stands() -> None:
    assert set(durations.expectations(a_plan(2).episodes, {}).values()) == {10.0}


def a_commit(
    episode: str, seconds: float, text: str = "", outcome: Outcome = Outcome.SUCCESS
) -> AttemptCommitted:
    return AttemptCommitted(
        token="t",
        episode=episode,
        attempt=1,
        device="a",
        judgement=Judgement(outcome, Blame.NONE, Phase.ORACLE, text=text, violations_known=True),
        started_ms=0,
        ended_ms=int(seconds * 1000),
        manifest="m",
        bundle="b",
        bundle_bytes=9,
    )


async def a_journal(run: Path, agent: str, seconds: float, outcome: Outcome) -> None:
    folder = run / "journal"
    journal = opened_journal(folder)
    opened = RunOpened(plan="p", agent=agent, profile="sim", episodes=1, settings={})
    committed = a_commit("case_0.benign.0", seconds, outcome=outcome)
    await journal.append([opened, committed])
    await journal.close()


async def test_durations_are_those_of_this_agent_and_of_whole_attempts(tmp_path: Path) -> None:
    await a_journal(tmp_path / "one", "random", 2, Outcome.SUCCESS)
    await a_journal(tmp_path / "two", "random", 4, Outcome.TASK_FAILED)
    await a_journal(tmp_path / "three", "random", 90, Outcome.INFRA_FAILED)
    await a_journal(tmp_path / "four", "idle", 90, Outcome.SUCCESS)
    (tmp_path / "five" / "journal").mkdir(parents=True)
    (tmp_path / "five" / "journal" / "000001.jsonl").write_text('"event":"attempt_committed"\n')
    known = durations.measured_means(tmp_path, "random")
    assert known == {("case_0", "benign"): pytest.approx(3.0)}


async def test_of_a_long_journal_the_beginning_the_middle_and_the_end_are_looked_at(
    tmp_path: Path,
) -> None:
    """All of it would keep a resumed run waiting; a third of it would miss whole cases."""
    folder = tmp_path / "one" / "journal"
    journal = opened_journal(folder)
    journal.queue([RunOpened(plan="p", agent="idle", profile="sim", episodes=1, settings={})])
    text = "x" * 30_000
    for case in range(8):
        journal.queue([a_commit(f"case_{case}.benign.{n}", case, text) for n in range(30)])
    await journal.close()
    assert (folder / "000001.jsonl").stat().st_size > durations.SAMPLE
    known = [seconds for _, seconds in durations.measured(folder, "idle")]
    assert len(known) < 8 * 30
    assert durations.measured_means(tmp_path, "idle") == {
        (f"case_{case}", "benign"): float(case) for case in range(8)
    }
    assert durations.measured_means(tmp_path, "another") == {}


def test_means_travel_with_the_run(tmp_path: Path) -> None:
    means = {("case_0", "benign"): 3.0, ("case_0", "attack"): 4.5}
    assert durations.recorded_means(tmp_path) == {}
    write_json(tmp_path / durations.FILE, durations.as_json(means))
    assert durations.recorded_means(tmp_path) == means
    for text in ("[]", '{"case": 1}', '{"case": {"benign": "long"}}', "{"):
        (tmp_path / durations.FILE).write_text(text)
        with pytest.raises(UsageError, match="no record of durations"):
            durations.recorded_means(tmp_path)
