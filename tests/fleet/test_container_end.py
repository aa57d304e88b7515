"""The description of a container's end."""

from __future__ import annotations

import pytest

from orchestrator.fleet.docker.container_end import describe_end, end_cause, end_code
from orchestrator.fleet.docker.containers import ContainerLimits, ContainerState
from orchestrator.outcome import Cause

LIMITS = ContainerLimits(cpus=1.0, memory_mb=64, pids=8)


OOM = "container OOM-killed: the device needed more than its 64 MB"


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (None, ["the device's container is gone: somebody removed it"]),
        (ContainerState("running"), []),
        (ContainerState("exited", 1), ["the device's container ended with exit code 1"]),
        (
            ContainerState("exited", 137, oom_killed=True),
            [OOM, "the device's container ended with exit code 137"],
        ),
        (
            ContainerState("running", unhealthy="adb: device offline", restarts=2),
            ["it was unhealthy: adb: device offline", "it had been restarted 2 times"],
        ),
        (ContainerState("created", error="no such program"), ["no such program"]),
    ],
)
def test_all_that_the_engine_knows_of_it_is_told(
    seen: ContainerState | None, words: list[str]
) -> None:
    assert describe_end("device", seen, LIMITS) == "; ".join(words)


@pytest.mark.parametrize(
    ("seen", "number"),
    [
        (None, None),
        (ContainerState("running"), None),
        (ContainerState("exited", 0), None),
        (ContainerState("exited", 137), 137),
    ],
)
def test_a_fact_has_a_code_where_something_failed(
    seen: ContainerState | None, number: int | None
) -> None:
    assert end_code(seen) == number


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        (None, Cause.REMOVED),
        (ContainerState("exited", 137, oom_killed=True), Cause.OUT_OF_MEMORY),
        (ContainerState("exited", 137), Cause.KILLED),
        (ContainerState("exited", 139), Cause.CRASHED),
        (ContainerState("exited", 1), Cause.EXITED),
    ],
)
def test_an_end_has_a_cause(state: ContainerState | None, cause: Cause) -> None:
    assert end_cause(state) is cause
