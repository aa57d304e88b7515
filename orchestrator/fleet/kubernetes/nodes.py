"""Which nodes are avoided: those on which several devices in a row failed. Pure."""

from __future__ import annotations

from ...outcome import Cause

MOST_FAULTS = 3  # in a row
# What a node may be to blame for. Others are the doing of a scheduler, a queue or a person, the
# device's own limits, or the run's configuration.
_NODE_FAULTS = frozenset(
    {
        Cause.KILLED, Cause.CRASHED, Cause.EXITED, Cause.UNUSABLE, Cause.START_TIMEOUT,
        Cause.RUNTIME_ERROR, Cause.REJECTED, Cause.NODE_LOST, Cause.UNKNOWN,
    }
)  # fmt: skip
_AVOIDED = " is avoided: devices failed there in a row"


def avoidance(node: str) -> str:
    """The sentence for a person."""
    return f"the node {node}{_AVOIDED}"


def is_avoidance(text: str) -> bool:
    return text.endswith(_AVOIDED)


class NodeHistory:
    """Cordoning a node needs rights over the cluster; a run may only stay away from it."""

    def __init__(self) -> None:
        self._faults: dict[str, int] = {}

    @property
    def avoided(self) -> frozenset[str]:
        return frozenset(node for node, count in self._faults.items() if count >= MOST_FAULTS)

    def fault(self, node: str, cause: Cause) -> bool:
        """A device or its worker failed there; whether the node is avoided because of it."""
        if not node or cause not in _NODE_FAULTS:
            return False
        self._faults[node] = self._faults.get(node, 0) + 1
        return self._faults[node] == MOST_FAULTS

    def worked(self, node: str) -> None:
        """A device there committed an attempt."""
        self._faults.pop(node, None)

    def forget(self) -> None:
        """No other node takes a device: all are tried again."""
        self._faults.clear()
