"""Speaks to a cluster through its kubeconfig, whoever runs it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.cluster import commands
from tests.e2e.cluster.processes import wait_for

KUBECTL_S = 120.0


class Reached:
    """Any cluster; of one that is not ours, no node may be touched."""

    ours = False

    def __init__(self, kubectl: Path, kubeconfig: Path) -> None:
        self._kubectl = kubectl
        self.kubeconfig = kubeconfig

    def kubectl(
        self, *words: str, check: bool = True, seconds: float = KUBECTL_S, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        command = (self._kubectl, "kubectl", "--kubeconfig", self.kubeconfig)
        return commands.run(*command, *words, check=check, seconds=seconds, stdin=stdin)

    def get(self, *words: str) -> Any:
        """What `kubectl get` has, as it is."""
        return json.loads(self.kubectl("get", *words, "-o", "json").stdout)

    def apply(self, *objects: dict[str, Any]) -> None:
        stdin = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        self.kubectl("apply", "--server-side", "-f", "-", stdin=stdin)

    def ready(self) -> set[str]:
        """The nodes that the API server holds for Ready."""
        return {
            node["metadata"]["name"]
            for node in self.get("nodes")["items"]
            for condition in node["status"].get("conditions", [])
            if (condition["type"], condition["status"]) == ("Ready", "True")
        }

    def wait(self, what: str, holds: Callable[[], bool], seconds: float = KUBECTL_S) -> None:
        wait_for(what, holds, seconds)
