"""Calls a cluster's API server: objects of one namespace, as plain JSON.

Every call has a time limit and may be repeated. Nothing is retried here: pods are watched, and
whoever makes one looks again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Self

import httpx

from ...errors import EmufarmError
from .access import ClusterAccess

Json = dict[str, Any]
PAGE = 500  # objects in one answer
# Thousands of pairs ask at the same time. Who waits here costs nothing; who waits in the client's
# pool costs each of the others a look.
AT_ONCE = 32
WATCH_S = 300
# Bookmarks come every minute; a stream that is silent for longer is dead.
SILENCE_S = 90.0
_AWAY = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True)
class ObjectKind:
    """A kind of namespaced objects, as paths spell it."""

    api: str
    plural: str


PODS = ObjectKind("api/v1", "pods")
SECRETS = ObjectKind("api/v1", "secrets")
EVENTS = ObjectKind("api/v1", "events")


class ClusterAway(EmufarmError):
    """The API server does not answer, or not now."""

    transient = True


_UNCOUNTED = "status unknown for quota"


class ClusterRefused(EmufarmError):
    """The API server refused the request; repeating it would not help, unless it is `passing`."""

    def __init__(self, status: int, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.reason = reason  # one word of the server's

    @property
    def exists(self) -> bool:
        """There is an object of this name: perhaps made by a request whose answer was lost."""
        return self.reason == "AlreadyExists"

    @property
    def passing(self) -> bool:
        """A quota is used up, or so new that nobody has counted yet; or others of its objects were
        made at the same moment."""
        said = str(self)
        return self.reason == "Conflict" or "exceeded quota" in said or _UNCOUNTED in said


class KubernetesApi:
    """One namespace of a cluster."""

    def __init__(self, access: ClusterAccess, namespace: str = "") -> None:
        self.namespace = namespace or access.namespace or "default"
        self._http = access.async_client()
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def get(self, kind: ObjectKind, name: str) -> Json | None:
        try:
            return await self._ask("GET", self._path(kind, name))
        except ClusterRefused as error:
            if error.status == httpx.codes.NOT_FOUND:
                return None
            raise

    async def listed(
        self, kind: ObjectKind, selector: str, fields: str = ""
    ) -> tuple[list[Json], str]:
        """All objects with these labels and fields, and the version from which a watch goes on."""
        query = {"labelSelector": selector, "fieldSelector": fields, "limit": str(PAGE)}
        found: list[Json] = []
        while True:
            page = await self._ask("GET", self._path(kind), query=query)
            found += page.get("items") or []
            about = page.get("metadata") or {}
            if not about.get("continue"):
                return found, str(about.get("resourceVersion") or "")
            query["continue"] = about["continue"]

    async def create(self, kind: ObjectKind, body: Json) -> Json:
        return await self._ask("POST", self._path(kind), body=body)

    async def patch(self, kind: ObjectKind, name: str, body: Json, part: str = "") -> Json:
        """A merge patch of the object, or of its `part`, such as its status."""
        path = self._path(kind, name) + (f"/{part}" if part else "")
        return await self._ask("PATCH", path, body=body, media="application/merge-patch+json")

    async def delete(self, kind: ObjectKind, name: str, grace_s: int | None = None) -> None:
        """Nothing where it is gone already. With 0, nobody waits for its containers to end."""
        # Said outright: what a Job owns would else stay.
        body: Json = {
            "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
        }  # fmt: skip
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        try:
            await self._ask("DELETE", self._path(kind, name), body=body)
        except ClusterRefused as error:
            if error.status != httpx.codes.NOT_FOUND:
                raise

    async def watch(
        self, kind: ObjectKind, selector: str, version: str, fields: str = ""
    ) -> AsyncIterator[Json]:
        """What changes after this version, for some minutes. ClusterRefused with the status 410
        where the server has forgotten the version."""
        query = {
            "watch": "1", "labelSelector": selector, "fieldSelector": fields,
            "resourceVersion": version, "timeoutSeconds": str(WATCH_S),
            "allowWatchBookmarks": "true",
        }  # fmt: skip
        timeout = httpx.Timeout(SILENCE_S, connect=10.0)
        try:
            async with self._http.stream(
                "GET", self._path(kind), params=query, timeout=timeout
            ) as answer:
                if answer.status_code != httpx.codes.OK:
                    await answer.aread()
                    raise _refusal(answer)
                async for line in answer.aiter_lines():
                    event: Json = json.loads(line)
                    if event["type"] == "ERROR":
                        status = event["object"]
                        raise ClusterRefused(int(status.get("code", 0)), str(status.get("message")))
                    yield event
        except (httpx.HTTPError, OSError, ValueError, KeyError) as error:
            raise ClusterAway(f"the cluster's API server does not answer: {error!r}") from error

    async def log_tail(
        self, pod: str, container: str, lines: int, *, previous: bool = False
    ) -> str:
        """The last lines of a container; "" where there are none to be had."""
        query = {"container": container, "tailLines": str(lines), "limitBytes": str(lines * 512)}
        if previous:
            query["previous"] = "true"
        try:
            answer = await self._http.get(f"{self._path(PODS, pod)}/log", params=query)
        except (httpx.HTTPError, OSError):
            return ""
        return answer.text if answer.status_code == httpx.codes.OK else ""

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Json | None = None,
        media: str = "application/json",
    ) -> Json:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", "Content-Type": media}
        try:
            async with self._turns:
                answer = await self._http.request(
                    method, path, params=query, content=content, headers=headers
                )
            if not answer.is_success:
                raise _refusal(answer)
            found: Json = answer.json()
        except (httpx.HTTPError, OSError, ValueError) as error:
            raise ClusterAway(f"the cluster's API server does not answer: {error!r}") from error
        return found

    def _path(self, kind: ObjectKind, name: str = "") -> str:
        place = f"/{kind.api}/namespaces/{self.namespace}/{kind.plural}"
        return f"{place}/{name}" if name else place


def _refusal(answer: httpx.Response) -> ClusterAway | ClusterRefused:
    try:
        status = answer.json()
        text, reason = str(status["message"]), str(status.get("reason"))
    except (ValueError, KeyError, TypeError, AttributeError):
        text, reason = answer.text[:500] or f"status {answer.status_code}", ""
    if answer.status_code in _AWAY:
        return ClusterAway(f"the cluster's API server does not answer now: {text}")
    return ClusterRefused(answer.status_code, text, reason)
