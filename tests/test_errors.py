"""An unknown name is answered with similar known names."""

from __future__ import annotations

import pytest

from orchestrator.errors import did_you_mean

NAMES = ("reference", "near_miss", "idle", "sim-api34", "sim-api35")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("refrence", "did you mean 'reference'?"),
        ("NEAR-MISS", "did you mean 'near_miss'?"),
        ("sim-api3", "did you mean 'sim-api35' or 'sim-api34'?"),
        ("zebra", "choose one of them"),
        ("", "choose one of them"),
    ],
)
def test_the_nearest_names_are_suggested(name: str, hint: str) -> None:
    assert did_you_mean(name, NAMES, "choose one of them") == hint


def test_without_known_names_there_is_nothing_to_suggest() -> None:
    assert did_you_mean("reference", (), "there are none") == "there are none"
