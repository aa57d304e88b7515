"""Pending episodes are in the order of a plain sorted list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.coordinator.pending import Pending

EXPECTED = {f"e{number}": float(number % 4) for number in range(12)}


@given(st.lists(st.tuples(st.sampled_from(sorted(EXPECTED)), st.booleans()), max_size=60))
def test_the_longest_comes_first_and_who_comes_back_stands_before_its_equals(
    steps: list[tuple[str, bool]],
) -> None:
    pending = Pending(EXPECTED, EXPECTED)
    model = sorted(EXPECTED, key=lambda id: -EXPECTED[id])
    for id, back in steps:
        if back and id not in model:
            pending.put_back(id)
            before = sum(EXPECTED[each] > EXPECTED[id] for each in model)
            model.insert(before, id)
        elif not back:
            pending.take(id)
            model = [each for each in model if each != id]
        assert list(pending) == model
        assert len(pending) == len(model)
        assert [id for id in EXPECTED if id in pending] == [id for id in EXPECTED if id in model]
        assert pending.expected_s == sum(EXPECTED[each] for each in model)
