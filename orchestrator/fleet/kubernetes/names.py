"""Names and labels of a run's objects in a cluster. Pure."""

from __future__ import annotations

import re

from ...errors import UsageError

RUN, SLOT, DEVICE = "emufarm.dev/run", "emufarm.dev/slot", "emufarm.dev/device"
COMPONENT = "app.kubernetes.io/component"
PART_OF = {"app.kubernetes.io/part-of": "emufarm"}
# How the names of a run's other objects go on: another run's name must not.
_TAKEN = re.compile(r".*-(agent|slot-\d+-\d+)")
_OF_THE_FARM = ("coordinator", "default-deny", "staging")  # objects of k8s/ are called so
_RUN_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


def require_run_name(name: str) -> None:
    """UsageError where Pods and labels cannot have this name in theirs."""
    if not _RUN_NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a run on a cluster: give at most 40 small letters, digits "
            "and hyphens, with a letter or digit at both ends"
        )
    if name in _OF_THE_FARM:
        raise UsageError(
            f"{name!r} is no name for a run on a cluster: {run_object(name)} is an object of the "
            "farm itself; choose another with --run"
        )
    if _TAKEN.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a run on a cluster: objects of another run may be called so"
        )


def run_object(run: str) -> str:
    return f"emufarm-{run}"


def device_object(run: str, device: str) -> str:
    """Of a device's Pod and Secret; a device is called <slot>.<n>, and never twice the same."""
    return f"{run_object(run)}-{device.replace('.', '-')}"


def agent_object(run: str, device: str, number: str) -> str:
    """Of the Pod of one attempt's agent; each has another number, since a Pod that ends keeps its
    name for some time."""
    return f"{device_object(run, device)}-agent-{number}"


def run_selector(run: str, component: str = "") -> str:
    own = f"{RUN}={run}"
    return f"{own},{COMPONENT}={component}" if component else own
