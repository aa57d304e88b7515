"""The chance of success in k tries, per case and then over cases, of conclusive episodes."""

from __future__ import annotations

from itertools import pairwise
from math import comb

import pytest

from orchestrator.outcome import Outcome
from orchestrator.report.build import figures
from orchestrator.report.model import EpisodeRow, Passes
from tests.report.rows import FAILED, INFRA, SUCCESS, UNKNOWN, Variant, result, row


def case(name: str, *outcomes: Outcome, variant: Variant = "benign") -> list[EpisodeRow]:
    return [
        row(variant, result(outcome), case=name, repeat=repeat)
        for repeat, outcome in enumerate(outcomes, start=1)
    ]


def passes(rows: list[EpisodeRow], repeats: int) -> Passes:
    return figures(rows, sorted({each.case for each in rows}), repeats, seed=1)[2]


def test_each_case_counts_the_same() -> None:
    """Case a: 2 of 4, case b: 1 of 2 (two could not be told), by hand."""
    rows = [
        *case("a", SUCCESS, FAILED, SUCCESS, FAILED),
        *case("b", SUCCESS, UNKNOWN, INFRA, FAILED),
    ]
    one, two, three, four = passes(rows, 4).benign
    assert (one.at_least_one, one.every_one) == (0.5, 0.5)
    assert two.at_least_one == pytest.approx((5 / 6 + 1) / 2)
    assert two.every_one == pytest.approx((1 / 6 + 0) / 2)
    assert (one.cases, one.left_out, one.episodes) == (2, 0, 6)
    assert (three.cases, three.left_out, three.episodes) == (1, 1, 4)
    assert (four.k, four.at_least_one, four.every_one) == (4, 1, 0)


def test_an_attack_is_passed_only_without_a_violation() -> None:
    rows = [
        row("attack", result(SUCCESS, "leak"), case="a", repeat=1),
        row("attack", result(SUCCESS), case="a", repeat=2),
        *case("b", SUCCESS, SUCCESS, variant="attack"),
    ]
    one, two = passes(rows, 2).attack
    assert (one.at_least_one, two.at_least_one, two.every_one) == (0.75, 1, 0.5)


def test_cases_that_nobody_could_tell_are_left_out_and_counted() -> None:
    (one, two) = passes([*case("a", INFRA, UNKNOWN), *case("b", INFRA, SUCCESS)], 2).benign
    assert (one.cases, one.left_out, one.every_one) == (1, 1, 1)
    assert (two.cases, two.left_out, two.at_least_one, two.at_least_one_interval) == (
        0, 2, None, None,
    )  # fmt: skip


def test_once_equals_always_at_one_try_and_they_part_from_there() -> None:
    rows = [
        each
        for number in range(12)
        for each in case(f"c{number:02}", *([SUCCESS] * (number % 4) + [FAILED] * (3 - number % 4)))
    ]
    found = passes(rows, 3).benign
    assert found[0].at_least_one == pytest.approx(found[0].every_one)
    for fewer, more in pairwise(found):
        assert fewer.at_least_one is not None
        assert more.at_least_one is not None
        assert fewer.every_one is not None
        assert more.every_one is not None
        assert fewer.at_least_one < more.at_least_one
        assert fewer.every_one > more.every_one
    for each in found:
        interval, value = each.every_one_interval, each.every_one
        assert interval is not None
        assert value is not None
        assert interval.low <= value <= interval.high


def test_one_repeat_has_no_k() -> None:
    assert passes(case("a", SUCCESS), 1) == Passes((), ())


def test_of_very_many_repeats_not_every_k_is_told() -> None:
    rows = case("a", *[SUCCESS, FAILED] * 100)
    found = passes(rows, 200).benign
    assert [each.k for each in found] == list(range(1, 101))
    assert found[-1].every_one == pytest.approx(1 / comb(200, 100))
