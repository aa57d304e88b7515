"""Which phones the control agents get."""

from __future__ import annotations

import pytest

from orchestrator.farm.controls import controls


@pytest.mark.parametrize("seed", [0, 7, -3, 2**80])
def test_the_reference_runs_on_two_phones_that_the_seed_decides(seed: int) -> None:
    """A slot's phone takes a thousand-fold of it, and the phone refuses what is out of bounds."""
    first, second = (control.noise for control in controls(seed) if control.agent == "reference")
    assert first is not None
    assert second is not None
    assert first != second
    assert 0 <= min(first, second) <= max(first, second) < 2**63 // 1000
    assert controls(seed) == controls(seed)


def test_other_seeds_are_other_phones() -> None:
    noises = {control.noise for seed in (1, 2) for control in controls(seed) if control.noise}
    assert len(noises) == 4


def test_every_pass_has_a_folder_of_its_own() -> None:
    names = [control.name for control in controls(0)]
    assert len(set(names)) == len(names)
