"""Provides a Docker engine to tests that need one: a given one, or one that the session starts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.engine import Engine

# Suites that several adapters share say what was unequal, as test modules do.
pytest.register_assert_rewrite("tests.fleet.contract", "tests.fleet.docker_trial")
NOBODY = "unix:///nonexistent/docker.sock"


@pytest.fixture(scope="session", autouse=True)
def docker_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """It is named in the environment, as for a user. Where nobody needs one, none is started, and
    a developer's own is out of sight: `auto` is then the embedded fleet on every machine."""
    engine = Engine()
    with pytest.MonkeyPatch.context() as patch:
        if not any(item.get_closest_marker("docker") for item in request.session.items):
            patch.setenv("DOCKER_HOST", NOBODY)
            yield engine
            return
        with engine:
            for name, value in engine.env.items():
                patch.setenv(name, value)
            yield engine
