"""An API server on a real socket with some objects in it, and a proxy to a coordinator."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from orchestrator import __version__
from orchestrator.coordinator.http_server import serving
from orchestrator.fleet.kubernetes.access import kubeconfig_access
from orchestrator.fleet.kubernetes.api import Json
from orchestrator.fleet.kubernetes.farm_run import FarmRunSpec
from orchestrator.fleet.kubernetes.names import COMPONENT, PART_OF, RUN
from orchestrator.fleet.kubernetes.run_objects import RunObjects
from orchestrator.plan.plan import Plan
from tests.coordinator.conftest import SECRETS

NAMESPACE = "farm"
OWNER = {"kind": "FarmRun", "name": "one", "uid": "1"}
COORDINATOR_TEMPLATE: Json = {
    "spec": {
        "containers": [{"name": "coordinator"}],
        "volumes": [
            {"name": "run", "persistentVolumeClaim": {}},
            {"name": "secrets", "secret": {}},
        ],
    }
}


class FakeCluster:
    """One namespace; its objects by the plural of their kind and their name."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Json] = {}
        self.coordinator = ""  # where it is reached; "": nobody is behind its Service
        self.failing: dict[str, int] = {}  # the coordinator's path -> how the proxy answers it
        self.on_create: Callable[[str, Json], None] = lambda plural, made: None
        self.on_list: Callable[[str], None] = lambda plural: None
        self.kubeconfig = Path()
        self._numbers = itertools.count(1)

    def add(self, plural: str, body: Json) -> Json:
        made: Json = json.loads(json.dumps(body))
        about = made.setdefault("metadata", {})
        number = next(self._numbers)
        about.setdefault("name", f"{about.get('generateName', '')}{number}")
        about.setdefault("uid", f"uid-{number}")
        about.setdefault("namespace", NAMESPACE)
        about.setdefault("creationTimestamp", f"2031-05-12T09:15:{number % 60:02d}Z")
        self.objects[plural, about["name"]] = made
        return made

    def add_run(self, plan: Plan, **status: Any) -> Json:
        """The run `one` of this plan with all that it owns, as it stands after its start."""
        spec = FarmRunSpec(plan.digest, plan.profile, "i@sha256:0", "w@sha256:0", plan.agent,
                           len(plan.episodes), __version__, devices=1)  # fmt: skip
        body = spec.body("one")
        if status:
            body["status"] = {"total": len(plan.episodes), **status}
        made, objects = self.add("farmruns", body), RunObjects("one", OWNER)
        secret = objects.secret(SECRETS)
        secret["data"] = {name: _base64(text) for name, text in secret["stringData"].items()}
        self.add("secrets", secret)
        service = objects.service()
        service["spec"]["clusterIP"] = "10.96.0.7"
        self.add("services", service)
        self.add("persistentvolumeclaims", objects.volume("1Gi", ""))
        template = {"metadata": {"name": "emufarm-coordinator"}, "template": COORDINATOR_TEMPLATE}
        self.add("podtemplates", template)
        self.add("jobs", objects.job(COORDINATOR_TEMPLATE, "w@sha256:0", ()))
        return made

    def coordinator_pod(self, name: str, **status: Any) -> Json:
        labels = {**PART_OF, COMPONENT: "coordinator", RUN: "one"}
        return self.add("pods", {"metadata": {"name": name, "labels": labels},
                                 "spec": {}, "status": status})  # fmt: skip

    def has_ended(self, job: str = "emufarm-one") -> None:
        condition = {"type": "Complete", "status": "True"}
        self.objects["jobs", job]["status"] = {"conditions": [condition]}

    def jobs(self) -> list[Json]:
        return [one for (plural, _), one in self.objects.items() if plural == "jobs"]

    @asynccontextmanager
    async def serving(self, folder: Path) -> AsyncIterator[str]:
        routes = [Route("/{path:path}", self._answer, methods=["GET", "POST", "PATCH", "DELETE"])]
        async with (
            httpx.AsyncClient(timeout=60.0, trust_env=False) as self._http,
            serving(Starlette(routes=routes), "127.0.0.1", 0) as url,
        ):
            self.kubeconfig = folder / "kubeconfig"
            self.kubeconfig.write_text(yaml.safe_dump(_kubeconfig(url)))
            yield url

    async def _answer(self, request: Request) -> Response:
        # Else a stranger is answered while its body is on its way, and nothing more is read of it.
        await request.body()
        words = request.path_params["path"].partition("/namespaces/")[2].split("/")
        plural, rest = words[1], words[2:]
        if plural == "services" and rest[1:2] == ["proxy"]:
            return await self._proxied(request, "/".join(rest[2:]))
        if rest[1:] == ["log"]:
            return Response("")
        if not rest:
            return await self._collection(request, plural)
        found = self.objects.get((plural, rest[0]))
        if found is None:
            return JSONResponse({"message": f'{plural} "{rest[0]}" not found'}, 404)
        if request.method == "PATCH":
            _merge(found, await request.json())
        elif request.method == "DELETE":
            del self.objects[plural, rest[0]]
        return JSONResponse(found)

    async def _collection(self, request: Request, plural: str) -> Response:
        if request.method == "POST":
            made = self.add(plural, await request.json())
            self.on_create(plural, made)
            return JSONResponse(made, 201)
        self.on_list(plural)
        selector = request.query_params.get("labelSelector", "")
        wanted = dict(one.split("=") for one in selector.split(",") if one).items()
        items = [
            one for (kind, _), one in self.objects.items()
            if kind == plural and wanted <= (one["metadata"].get("labels") or {}).items()
        ]  # fmt: skip
        return JSONResponse({"items": items, "metadata": {"resourceVersion": "1"}})

    async def _proxied(self, request: Request, path: str) -> Response:
        if path in self.failing:
            return JSONResponse({"message": "the proxy fails"}, self.failing[path])
        if not self.coordinator:
            return JSONResponse({"message": "no endpoints available for service"}, 503)
        headers = {key: value for key, value in request.headers.items() if key != "host"}
        answer = await self._http.request(
            request.method, f"{self.coordinator}/{path}", params=dict(request.query_params),
            headers=headers, content=await request.body(),
        )  # fmt: skip
        kind = answer.headers.get("content-type")
        return Response(answer.content, answer.status_code, media_type=kind)


def use(cluster: FakeCluster, monkeypatch: Any) -> None:
    """Commands of this process reach it."""
    monkeypatch.setattr(
        "orchestrator.farm.cluster.reach.kubeconfig_access",
        lambda context: kubeconfig_access(context, cluster.kubeconfig),
    )


def _kubeconfig(url: str) -> Json:
    context = {"cluster": "c", "user": "u", "namespace": NAMESPACE}
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": name, "context": context} for name in ("x", "other")],
    }  # fmt: skip


def _merge(into: Json, patch: Json) -> None:
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
