"""Which nodes are avoided: those on which several devices in a row failed. Pure."""

from __future__ import annotations

MOST_FAULTS = 3  # in a row
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

    def fault(self, node: str) -> bool:
        """A device failed there; whether the node is avoided because of it."""
        if not node:
            return False
        self._faults[node] = self._faults.get(node, 0) + 1
        return self._faults[node] == MOST_FAULTS

    def worked(self, node: str) -> None:
        """A device there committed an attempt."""
        self._faults.pop(node, None)

    def forget(self) -> None:
        """No other node takes a device: all are tried again."""
        self._faults.clear()
