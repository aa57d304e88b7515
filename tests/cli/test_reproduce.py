"""What `emufarm reproduce` prints."""

from __future__ import annotations

from pathlib import Path

from orchestrator.cli.reproduce import show
from orchestrator.farm.reproduction import Reproduction
from orchestrator.report.endings import EndingComparison, EndingDifference


def test_what_differs_is_told_in_whole_names_and_short_digests() -> None:
    names = "message_to_stranger_one", "message_to_stranger_two"
    differences = (
        EndingDifference("a", "violations", *names),
        EndingDifference("b", "sent (post)", "1" * 64, "2" * 64),
    )
    said: list[str] = []
    compared = EndingComparison(2, differences, (), ("c",))
    show(Reproduction(Path("one"), Path("two"), compared), said.append)
    told = "\n".join(said)
    assert all(name in told for name in names)
    assert "1" * 16 in told
    assert "1" * 17 not in told
    assert "two has 1 episodes less" in told
    assert "0 equal, 2 different" in told
