"""A fault happens at exactly the passages it was armed for, and is armed by plain words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simphone.faults import table
from simphone.faults.order import ALWAYS, BadOrder, FaultClass
from simphone.faults.seam import Faults
from simphone.faults.table import FAULTS, listing, ordered

NUMBERS = st.integers(0, 12)


def text_of(*words: str) -> str:
    with pytest.raises(BadOrder) as refused:
        ordered(words)
    return str(refused.value)


@given(NUMBERS, st.integers(1, 12), NUMBERS)
def test_a_fault_happens_at_the_passages_after_the_ones_that_go_well(
    after: int, times: int, passages: int
) -> None:
    faults = Faults()
    faults.arm(ordered(["console-ko", f"after={after}", f"times={times}"]), lambda line: "changed")
    seen = [faults.at("console.command", "line") for _ in range(passages)]
    wanted = ["line"] * after + ["changed"] * times + ["line"] * passages
    assert seen == wanted[:passages]
    assert [(one.passages, one.happened, one.armed) for one in faults.armed()] == [
        (passages, seen.count("changed"), passages < after + times)
    ]


ARMED = st.lists(st.tuples(st.sampled_from("abc"), NUMBERS, st.integers(1, 12)), max_size=8)


@given(ARMED, st.lists(st.sampled_from("abcd"), max_size=60))
def test_each_of_many_faults_counts_for_itself(
    armed: list[tuple[str, int, int]], points: list[str]
) -> None:
    """And what passes a point where nothing is due is the same object as before."""
    faults = Faults()
    for point, after, times in armed:
        fault = FaultClass("x", (point,), "", lambda phone, order: lambda value: value)
        order = ordered(["anr", f"after={after}", f"times={times}"])
        order = type(order)(fault, point, order.after, order.times)
        faults.arm(order, lambda value: [*value, "changed"])
    passed = dict.fromkeys("abcd", 0)
    for point in points:
        due = sum(
            at == point and after <= passed[point] < after + times for at, after, times in armed
        )
        value = ["whole"]
        left = faults.at(point, value)
        assert left == ["whole", *["changed"] * due]
        assert due or left is value
        passed[point] += 1
    faults.clear()
    untouched = ["whole"]
    assert all(faults.at(point, untouched) is untouched for point in "abcd")


def test_a_passage_that_the_class_does_not_concern_is_not_counted() -> None:
    faults = Faults()
    faults.arm(ordered(["service-missing", "service=package", "after=1"]), lambda name: "")
    names = ["input", "package", "input", "package", "package"]
    assert [faults.at("service", name) for name in names] == [*names[:3], "", "package"]


def test_one_word_arms_a_class_at_its_first_point_for_its_own_times() -> None:
    assert str(ordered(["anr"])) == "anr at=shell after=0 times=1"
    order = ordered(["snapshot-load-noop"])
    assert (order.point, order.after, order.times) == ("snapshot.load", 0, ALWAYS)
    order = ordered(["slow", "seconds=0.5", "times=3", "after=2"])
    assert (order.argument, order.times, order.after) == (0.5, 3, 2)
    assert str(ordered(["exits-0", "at=screencap"])) == "exits-0 at=screencap after=0 times=1"


@pytest.mark.parametrize("name", FAULTS)
def test_the_words_of_a_listing_arm_the_same_again(name: str) -> None:
    for point in FAULTS[name].points:
        faults = Faults()
        faults.arm(ordered([name, f"at={point}", "after=1"]), lambda value: value)
        words = listing(faults.armed()).split(" armed=")[0]
        assert ordered(words.split()) == faults.armed()[0].order


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "a fault's class is missing"),
        (("nope",), "there is no fault 'nope', only: start-lock, "),
        (("anr", "after=-1"), "after must be a number from 0 to 1000000, not '-1'"),
        (("anr", "after=1000001"), "after must be a number from 0 to 1000000, not '1000001'"),
        (("anr", "after="), "after must be a number from 0 to 1000000, not ''"),
        (("anr", "times=0"), "times must be a number from 1 to 1000000, or 'always', not '0'"),
        (("anr", "times=٣"), "times must be a number from 1"),
        (("anr", "at=settings.get"), "anr happens at shell or "),
        (("anr", "after=1", "after=2"), "anr is given after twice"),
        (("anr", "seconds=1"), "anr takes at, after, times, not 'seconds'"),
        (("slow", "colour=1"), "slow takes at, after, times, seconds, not 'colour'"),
        (("slow", "seconds=601"), "seconds must be a number from 0 to 600, not '601'"),
        (("slow", "seconds=nan"), "seconds must be a number from 0 to 600, not 'nan'"),
        (("service-missing", "service=x"), "service must be one that `service list` shows"),
    ],
)
def test_what_arms_nothing_is_refused_in_one_line(words: tuple[str, ...], said: str) -> None:
    assert text_of(*words).startswith(said)
    assert "\n" not in text_of(*words)


@given(st.lists(st.sampled_from([*FAULTS, "at=shell", "after=1", "times=2", ""]) | st.text()))
def test_any_words_arm_a_fault_or_are_refused(words: list[str]) -> None:
    said = ""
    try:
        said = ordered(words).fault.name
    except BadOrder as refused:
        said = str(refused)
    assert said


def test_every_point_of_every_class_is_described() -> None:
    described = set(re.findall(r"^    ([a-z.]+)", table.__doc__ or "", re.MULTILINE))
    used = {point for one in FAULTS.values() for point in one.points}
    assert used <= described
