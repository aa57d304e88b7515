"""How is a query put to whoever knows: the phone, the agent's last word, the case's site?

The one place in the room that asks anybody anything. No answer is a Raw that says why.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ..device.adb_socket import Exchange
from ..device.capabilities import ROOT, SHELL, UNAVAILABLE
from ..device.faults import DeviceFault
from ..device.phone import Device
from ..device.retry import QUERY
from ..device.shell import needs_root
from ..events.canonical import canonical
from .agent_and_site import AGENT_ANSWER, SITE, SITE_DOCUMENTS, SITE_REQUESTS
from .oracle import Query, Raw
from .sqlite import PULL, PULL_ROOT, select

MOST_ERROR = 1 << 14  # characters of a command's stderr


@dataclass(frozen=True)
class QueryContext:
    """What a question may be asked of."""

    device: Device
    answer: str | None = None  # the agent's, once it gave one
    requests: tuple[Mapping[str, Any], ...] = ()  # the case site's so far
    forgotten: int = 0  # requests beyond what the site keeps
    capabilities: frozenset[str] = frozenset({SHELL, ROOT, SITE})


class QueryRunner:
    """For one conversation: what it pulled stays until its end."""

    def __init__(self, context: QueryContext) -> None:
        self._context = context
        self._open = ExitStack()
        self._database: Path | None = None
        self.retries: list[str] = []  # transport errors after which a query was put again

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def put(self, query: Query) -> Raw:
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
                failed.pop()  # after this one nothing was put again
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
            assert self._database is not None, "a query follows the pull of its database"
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
            return _sent(query, context)
        raise AssertionError(f"nobody knows how a {query.type} is put")


def _sent(query: Query, context: QueryContext) -> Raw:
    """Bodies only where they are asked for: a large one would cut what the others say."""
    if context.forgotten:
        return Raw(error=f"the site was sent {context.forgotten} requests more than it keeps")
    bodies = query.type == SITE_DOCUMENTS
    return Raw(
        canonical(
            [
                {name: value for name, value in sent.items() if bodies or name != "body"}
                for sent in context.requests
                if sent["path"] == query.path
            ]
        )
    )


def _needed(query: Query) -> frozenset[str]:
    beyond = UNAVAILABLE & {query.type}
    root = query.type == PULL_ROOT or (query.cmd is not None and needs_root(query.cmd))
    return beyond | {ROOT} if root else beyond
