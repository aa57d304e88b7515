"""The farm as the quicker tests of runs have it."""

from tests.run.conftest import farm

__all__ = ["farm"]
