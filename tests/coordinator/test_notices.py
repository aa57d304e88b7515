"""A reader of notices gets each once, and those of another process from the beginning."""

from __future__ import annotations

from orchestrator.coordinator.notices import MOST, NoticeLog


def test_a_reader_gets_what_it_does_not_have() -> None:
    log = NoticeLog()
    assert log.after(0) == (0, [])
    log.add("one")
    log.add("two")
    assert log.after(0) == (2, ["one", "two"])
    assert log.after(1) == (2, ["two"])
    assert log.after(2) == (2, [])


def test_a_reader_who_knows_more_has_another_processes_and_gets_all() -> None:
    log = NoticeLog()
    log.add("one")
    assert log.after(5) == (1, ["one"])


def test_only_the_last_ones_are_kept() -> None:
    log = NoticeLog()
    for number in range(MOST + 3):
        log.add(str(number))
    count, lines = log.after(0)
    assert (count, len(lines), lines[0]) == (MOST + 3, MOST, "3")
    assert log.after(MOST + 1) == (MOST + 3, [str(MOST + 1), str(MOST + 2)])
