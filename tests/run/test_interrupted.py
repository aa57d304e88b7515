"""An interrupted run blames nobody and can be resumed."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.agent.normalize import LONGEST_WAIT_S
from orchestrator.coordinator import chain
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    EpisodeDecided,
    LeaseGranted,
    LeaseReturned,
)
from tests.run.conftest import Farm, ended
from tests.run.test_road import SMOKE, wait_for


def test_the_journal_of_a_run_under_way_can_be_read(
    farm: Farm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A segment gets its name after the folder was listed and before a file is read."""
    journal = farm.runs / "r" / chain.FOLDER
    journal.mkdir(parents=True)
    (journal / chain.segment_name(1)).write_bytes(b"whole\n")
    unfinished = farm.runs / "r" / "000002.part"
    unfinished.write_bytes(b"new\n")
    read_bytes = Path.read_bytes

    def late(path: Path) -> bytes:
        if unfinished.exists():
            unfinished.rename(journal / chain.segment_name(2))
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", late)
    assert farm.journal() == b"whole\n"
    assert sorted(farm.journal().splitlines()) == [b"new", b"whole"]


def test_an_interrupted_run_gives_its_leases_back_and_blames_nobody(farm: Farm) -> None:
    words = ("--runs", str(farm.runs), "--run", "r", "--devices", "2", "--repeats", "3")
    process = farm.start("run", SMOKE, *words)
    wait_for(lambda: b"lease_granted" in farm.journal("r"), process)
    process.send_signal(signal.SIGINT)
    code, output = ended(process)
    assert code == 130, output
    stopping, resume = output.index("stopping: "), output.index(f"emufarm resume {farm.runs / 'r'}")
    assert stopping < resume
    assert "infrastructure" not in output
    events = farm.events()
    open_leases = {e.token for e in events if isinstance(e, LeaseGranted)}
    open_leases -= {e.token for e in events if isinstance(e, LeaseReturned)}
    assert not open_leases
    assert farm.processes() == []
    code, output = farm.resume("r", "--devices", "2")
    assert code == 0, output
    decided = [e.episode for e in farm.events() if isinstance(e, EpisodeDecided)]
    assert len(decided) == len(set(decided)) == 3


def test_an_interrupted_check_does_not_go_on_to_the_next_control(farm: Farm) -> None:
    process = farm.start("cases", "check", SMOKE, "--runs", str(farm.runs), "--devices", "1")
    wait_for(lambda: b"lease_granted" in farm.journal("checks/*"), process)
    process.send_signal(signal.SIGINT)
    code, output = ended(process)
    assert code == 130, output
    assert "control idle" not in output


def test_a_run_that_was_interrupted_three_times_loses_no_episode(
    farm: Farm, agent: Callable[[str], str]
) -> None:
    """Each time after the agent had acted; as many attempts as an episode may have. It waits as
    long as an action may: more is no action, and the attempt would end before the signal."""
    acted, finish = farm.runs.parent / "acted", farm.runs.parent / "finish"
    body = (
        "action = {'action': 'tap', 'x': 540, 'y': 1200}\n"
        f"if step > 0 and not os.path.exists({str(finish)!r}):\n"
        f"    open({str(acted)!r}, 'w').close()\n"
        f"    action = {{'action': 'wait', 'seconds': {LONGEST_WAIT_S}}}\n"
        "elif step > 0: action = {'action': 'done'}"
    )
    words = ("--runs", str(farm.runs), "--run", "r", "--devices", "1", "--agent", agent(body))
    process = farm.start("run", SMOKE, *words)
    for _ in range(3):
        wait_for(acted.exists, process)
        process.send_signal(signal.SIGINT)
        code, output = ended(process)
        assert code == 130, output
        assert "infrastructure" not in output
        acted.unlink()
        process = farm.start("resume", str(farm.runs / "r"), "--devices", "1")
    finish.touch()
    code, output = ended(process)
    assert code == 0, output
    events = farm.events()
    assert len([e for e in events if isinstance(e, LeaseReturned)]) == 3
    assert [e for e in events if isinstance(e, AttemptLost)] == []
    (commit,) = [e for e in events if isinstance(e, AttemptCommitted)]
    assert (commit.attempt, str(commit.judgement.outcome)) == (1, "task_failed")
