"""Names of a run's objects in a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from orchestrator.errors import UsageError
from orchestrator.fleet.kubernetes import names


@pytest.mark.parametrize("name", ["a", "first", "2026-11-18", "agents", "slot-00", "a" * 40])
def test_a_dns_label_names_a_run(name: str) -> None:
    names.require_run_name(name)


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a.b", "a_b", "a" * 41, "a\n"])
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="at most 40 small letters"):
        names.require_run_name(name)


@pytest.mark.parametrize("name", ["x-agent", "x-slot-00-1", "x-slot-123-45"])
def test_a_name_that_an_object_of_another_run_has_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="objects of another run"):
        names.require_run_name(name)


def test_no_run_has_the_name_of_an_object_of_the_farm() -> None:
    """Of a kind that runs have too: it would be taken for the run's."""
    kinds = {"Secret", "Service", "PersistentVolumeClaim", "NetworkPolicy", "Job", "Pod"}
    found = {
        one["metadata"]["name"].removeprefix("emufarm-")
        for path in (Path(__file__).parents[2] / "k8s").rglob("*.yaml")
        for one in yaml.safe_load_all(path.read_text())
        if one and one.get("kind") in kinds
    }
    assert found == {"coordinator", "default-deny", "staging"}
    for name in found:
        with pytest.raises(UsageError, match=f"emufarm-{name} is an object of the farm itself"):
            names.require_run_name(name)


def test_objects_of_two_runs_have_different_names() -> None:
    runs, devices = ("x", "x-y"), ("slot-00.1", "slot-00.11")
    found = [names.run_object(run) for run in runs]
    found += [names.device_object(run, device) for run in runs for device in devices]
    assert len(set(found)) == len(found)
