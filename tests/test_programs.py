"""A program of a test is killed, however the test ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.programs import started

SLEEPS = "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"


def starts_one_and_fails() -> None:
    with started(sys.executable, "-c", SLEEPS) as program:
        raise RuntimeError(program.first_line())


def test_a_program_ends_with_a_test_that_fails() -> None:
    with pytest.raises(RuntimeError, match=r"\d+") as error:
        starts_one_and_fails()
    assert not Path("/proc", str(error.value)).exists()


@pytest.mark.parametrize(
    ("code", "seconds", "why"),
    [
        ("import time; time.sleep(1000)", 0.2, r"no '.n' within"),
        ("print(end='half')", 30, "it ended"),
    ],
)
def test_a_line_that_does_not_come_fails_the_test(code: str, seconds: float, why: str) -> None:
    with started(sys.executable, "-c", code) as program, pytest.raises(AssertionError, match=why):
        program.first_line(seconds)
