"""Runs an oracle's queries against the phone, the agent's answer and the case's site.

The only module of the room that does I/O: it also reads the versions on which an answer depends. If
there is no answer, the raw result says why.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ..device.adb_socket import Exchange
from ..device.faults import DeviceFault
from ..device.identity import ROOT, SHELL, UNAVAILABLE
from ..device.phone import Device
from ..device.retry import QUERY
from ..device.shell import needs_root
from ..events.canonical import Json, canonical
from .agent_and_site import AGENT_ANSWER, SITE, SITE_DOCUMENTS, SITE_REQUESTS
from .oracle import Query, Raw
from .sqlite import PULL, PULL_ROOT, select

MOST_ERROR = 1 << 14  # characters of a command's stderr


@dataclass(frozen=True)
class QueryContext:
    """The sources that can answer queries."""

    device: Device
    answer: str | None = None  # of the agent, once it has given one
    requests: tuple[Mapping[str, Any], ...] = ()  # that the case's site has received
    forgotten: int = 0  # requests beyond the number that the site keeps
    capabilities: frozenset[str] = frozenset({SHELL, ROOT, SITE})


class QueryRunner:
    """Runs the queries of one inquiry; keeps pulled databases until its end."""

    def __init__(self, context: QueryContext) -> None:
        self._context = context
        self._open = ExitStack()
        self._database: Path | None = None
        self.retries: list[str] = []  # transport errors after which a query was repeated

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def run(self, query: Query) -> Raw:
        lacking = _needed(query) - self._context.capabilities
        if lacking:
            return Raw(error=f"the phone lacks {', '.join(sorted(lacking))}")
        failed: list[str] = []

        def listen(exchange: Exchange) -> None:
            if exchange.fault is not None:
                failed.append(exchange.fault)

        adb_socket = self._context.device.adb_socket
        before, adb_socket.listener = adb_socket.listener, listen
        try:
            raw = self._answer(query)
        except DeviceFault as fault:
            raw = Raw(error=str(fault))
            if failed[-1:] == [str(fault)]:
                failed.pop()  # the query was not repeated after this one
        finally:
            adb_socket.listener = before
        self.retries += failed
        return raw

    def _answer(self, query: Query) -> Raw:
        seconds = query.timeout_ms / 1000
        context, device = self._context, self._context.device
        if query.cmd is not None:
            line = query.cmd
            result = QUERY(lambda: device.adb_socket.shell(line, timeout=seconds))
            return Raw(result.stdout, result.exit_code, result.error_text[:MOST_ERROR])
        if query.sql is not None:
            assert self._database is not None, "an SQL query follows the pull of its database"
            return Raw(select(self._database, query.sql))
        if query.type in (PULL, PULL_ROOT):
            folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="oracle-")))
            path, root = str(query.path), query.type == PULL_ROOT
            self._database = device.files.pull_database(path, folder, timeout=seconds, root=root)
            sizes = {part.name: part.stat().st_size for part in folder.iterdir()}
            return Raw(canonical(sizes))
        if query.type == AGENT_ANSWER:
            return Raw(canonical(context.answer))
        if query.type in (SITE_REQUESTS, SITE_DOCUMENTS):
            return _requests(query, context)
        raise AssertionError(f"unknown query type {query.type}")


def _requests(query: Query, context: QueryContext) -> Raw:
    """With bodies only if the query asks for them: a large one would truncate the others."""
    if context.forgotten:
        return Raw(error=f"the site received {context.forgotten} requests more than it keeps")
    omitted = () if query.type == SITE_DOCUMENTS else ("body",)
    received = [request for request in context.requests if request["path"] == query.path]
    return Raw(canonical([{k: v for k, v in r.items() if k not in omitted} for r in received]))


def _needed(query: Query) -> frozenset[str]:
    unavailable = UNAVAILABLE & {query.type}
    root = query.type == PULL_ROOT or (query.cmd is not None and needs_root(query.cmd))
    return unavailable | {ROOT} if root else unavailable


class Versions:
    """The versions on the phone after its reset, of adb, the build and apps; each app is queried
    once. An unknown version is null, with the reason under `unknown`."""

    def __init__(self, device: Device, known: Mapping[str, Json]) -> None:
        self._device = device
        self._known = known  # of adb and the build
        self._app = functools.cache(self._query)

    def of(self, packages: Sequence[str]) -> dict[str, Json]:
        found = {package: self._app(package) for package in packages}
        return {
            **self._known,
            "apps": {package: version for package, (version, _) in found.items()},
            "unknown": {package: why for package, (_, why) in found.items() if why},
        }

    def _query(self, package: str) -> tuple[Json, str]:
        if package.startswith("content://"):
            return None, "the package that serves it is unknown"
        try:
            version = self._device.packages.version(package)
        except DeviceFault as fault:
            return None, str(fault)
        return {"name": version.name, "code": version.code}, ""
