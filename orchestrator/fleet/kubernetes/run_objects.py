"""The objects that `emufarm` makes for a run beside its FarmRun, which owns them. Pure.

Secret          the admins' secret, and the key of the workers' secrets
Service         the coordinator's address, for workers and for the API server's proxy
PVC             the run's folder
NetworkPolicy   two: its devices reach its coordinator and its agents, and nobody else does; with
                openings, its devices or its agents reach those places too
Job             the coordinator, made from the PodTemplate emufarm-coordinator
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...coordinator.credentials import Secrets
from ...errors import UsageError
from . import names
from .api import Json, ObjectKind

PORT = 8080
METRICS_PORT = 9090  # the PodTemplate calls it `metrics`
FARM = "/farm"  # where the run's volume is mounted
SECRETS_FOLDER = "/run/secrets/emufarm"
ADMIN, KEY = "admin", "workers.key"  # of the Secret
BACKOFF = 1_000_000  # restarts of a coordinator are not bounded: it goes on wherever it can
SERVED_S = 600  # how long the Job of a serve-only coordinator stays after its end

SERVICES = ObjectKind("api/v1", "services")
VOLUMES = ObjectKind("api/v1", "persistentvolumeclaims")
POLICIES = ObjectKind("apis/networking.k8s.io/v1", "networkpolicies")
JOBS = ObjectKind("apis/batch/v1", "jobs")
TEMPLATES = ObjectKind("api/v1", "podtemplates")


# `serve`: an ended run is only read; `again`: one that failed goes on.
JobUse = Literal["first", "serve", "again"]


@dataclass(frozen=True)
class Opening:
    """A place outside the farm that some of its Pods may reach."""

    host: str  # a name or an address
    port: int
    addresses: tuple[str, ...]

    @property
    def host_aliases(self) -> list[Json]:
        """Its name in a Pod without a name server."""
        return [
            {"ip": address, "hostnames": [self.host]}
            for address in self.addresses
            if address != self.host
        ]


@dataclass(frozen=True)
class RunObjects:
    run: str
    owner: Mapping[str, Any]

    def secret(self, secrets: Secrets) -> Json:
        data = {ADMIN: secrets.admin, KEY: secrets.workers.key}
        return self._object("v1", "Secret", stringData=data)

    def service(self) -> Json:
        port = {"name": "api", "port": PORT, "targetPort": "api", "protocol": "TCP"}
        spec = {"selector": self._pods("coordinator"), "ports": [port]}
        return self._object("v1", "Service", spec=spec)

    def volume(self, size: str, storage_class: str, *, shared: bool = False) -> Json:
        """`shared`: several nodes can mount it, so that a successor need not wait for it."""
        mode = "ReadWriteMany" if shared else "ReadWriteOnce"
        spec: Json = {"accessModes": [mode], "resources": {"requests": {"storage": size}}}
        if storage_class:
            spec["storageClassName"] = storage_class
        return self._object("v1", "PersistentVolumeClaim", spec=spec)

    def policies(self, openings: Sequence[Opening] = (), to: str = "device") -> list[Json]:
        """`openings`: places outside the farm that its Pods of the component `to` may reach."""
        ways = [
            {
                "to": [{"ipBlock": {"cidr": f"{address}/{128 if ':' in address else 32}"}}],
                "ports": [{"protocol": "TCP", "port": opening.port}],
            }
            for opening in openings
            for address in opening.addresses
        ]
        inside = [self._way("to", "coordinator"), self._way("to", "agent")]
        devices = {
            "podSelector": {"matchLabels": self._pods("device")},
            "policyTypes": ["Egress"],
            "egress": inside + (ways if to == "device" else []),
        }
        agents: Json = {
            "podSelector": {"matchLabels": self._pods("agent")},
            "policyTypes": ["Ingress"], "ingress": [self._way("from", "device")],
        }  # fmt: skip
        if ways and to == "agent":
            agents |= {"policyTypes": ["Ingress", "Egress"], "egress": ways}
        api, kind = "networking.k8s.io/v1", "NetworkPolicy"
        return [
            self._object(api, kind, spec=devices),
            self._object(api, kind, suffix="-agent", spec=agents),
        ]

    def job(
        self, template: Mapping[str, Any], image: str, arguments: Sequence[str],
        use: JobUse = "first",
    ) -> Json:  # fmt: skip
        """The run's first coordinator has its name; a later one has a name that the API server
        makes up. UsageError where the template lacks a part that is filled in."""
        body: Json = copy.deepcopy(dict(template))
        name = names.run_object(self.run)
        try:
            about: Json = body.setdefault("metadata", {})
            about["labels"] = {**(about.get("labels") or {}), names.RUN: self.run}
            (container,) = (
                one for one in body["spec"]["containers"] if one["name"] == "coordinator"
            )
            container["image"], container["args"] = image, list(arguments)
            volumes = {one["name"]: one for one in body["spec"]["volumes"]}
            volumes["run"]["persistentVolumeClaim"]["claimName"] = name
            volumes["secrets"]["secret"]["secretName"] = name
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"the PodTemplate emufarm-coordinator lacks {error}: apply k8s/ of this version "
                "again"
            ) from error
        spec: Json = {"template": body, "backoffLimit": BACKOFF}
        if use == "serve":
            spec["ttlSecondsAfterFinished"] = SERVED_S
        job = self._object("batch/v1", "Job", spec=spec)
        if use != "first":
            del job["metadata"]["name"]
            job["metadata"]["generateName"] = f"{name}-{use}-"
        return job

    def _way(self, direction: str, component: str) -> Json:
        return {
            direction: [{"podSelector": {"matchLabels": self._pods(component)}}],
            "ports": [{"protocol": "TCP", "port": PORT}],
        }

    def _pods(self, component: str) -> dict[str, str]:
        return {**names.PART_OF, names.COMPONENT: component, names.RUN: self.run}

    def _object(self, api: str, kind: str, *, suffix: str = "", **parts: Any) -> Json:
        return {
            "apiVersion": api,
            "kind": kind,
            "metadata": {
                "name": names.run_object(self.run) + suffix,
                "labels": {**names.PART_OF, names.RUN: self.run},
                "ownerReferences": [dict(self.owner)],
            },
            **parts,
        }


def proxy_path(namespace: str, run: str) -> str:
    """To the coordinator, through the API server."""
    return f"/api/v1/namespaces/{namespace}/services/{names.run_object(run)}:{PORT}/proxy"
