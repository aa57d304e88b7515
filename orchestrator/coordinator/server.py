"""The coordinator's HTTP API: its routes and secrets, and the server that listens for requests.

    POST /v1/lease, /v1/renew, /v1/return, /v1/device, /v1/agent    a worker's secret
    POST /v1/commit                                                 a worker's or the admins'
    GET  /v1/state, /v1/journal, /v1/notices, /v1/file, /v1/bundle  the admins' secret
    POST /v1/device_lost, /v1/pulled                                likewise
    GET  /healthz                                                   no secret

A worker's secret says which device it is of: no request names its device. Every refusal is one
sentence: {"error": "..."}. The size of a body is checked while it arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .admin_api import LossHandlers, ReadingHandlers
from .coordinator import Coordinator
from .credentials import Secrets
from .finished_run import FinishedRun, RunSource
from .http_body import check_length, read_body, too_long
from .http_server import (
    ADMIN,
    Guarded,
    admin_of,
    guarded_by,
    healthy,
    make_starlette,
    refusal,
    serving,
)
from .messages import (
    LEASE_HEADER,
    MANIFEST_HEADER,
    AgentRequest,
    DeviceStartReport,
    Lease,
    LeaseRequest,
    RenewRequest,
    ReturnRequest,
    UnconfinedRequest,
)

_WORKERS = (
    "lease",
    "renew",
    "unconfined",
    "commit",
    "return",
    "device",
    "agent",
)  # what workers ask for
BUNDLE_LIMIT = 512 << 20
BUNDLE_S = 600.0
_IN_MEMORY = 1 << 20  # bytes of an upload; later ones are written to disk, in a thread


@asynccontextmanager
async def listening(
    coordinator: Coordinator, secrets: Secrets, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[str]:
    """Serves the API while its block runs, and yields its base URL. Port 0 picks a free port."""
    app = make_app(coordinator, secrets)
    async with serving(app, host, port, coordinator.hang_up) as url:
        yield url


@asynccontextmanager
async def reading(
    run: FinishedRun, secrets: Secrets, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[str]:
    """Serves a run that has ended, to be read, as `listening` serves a coordinator."""
    async with serving(make_reading_app(run, secrets), host, port) as url:
        yield url


def make_app(coordinator: Coordinator, secrets: Secrets) -> Starlette:
    handlers, losses = WorkerHandlers(coordinator), LossHandlers(coordinator)
    admin = admin_of(secrets)

    def worker(given: str) -> str | None:
        return secrets.workers.device(given)

    def either(given: str) -> str | None:
        return worker(given) or admin(given)

    return make_starlette(
        [
            Route("/v1/lease", guarded_by(handlers.lease, worker), methods=["POST"]),
            Route("/v1/renew", guarded_by(handlers.renew, worker), methods=["POST"]),
            Route("/v1/unconfined", guarded_by(handlers.unconfined, worker), methods=["POST"]),
            Route("/v1/commit", guarded_by(handlers.commit, either), methods=["POST"]),
            Route("/v1/return", guarded_by(handlers.give_back, worker), methods=["POST"]),
            Route("/v1/device", guarded_by(handlers.device, worker), methods=["POST"]),
            Route("/v1/agent", guarded_by(handlers.agent, worker), methods=["POST"]),
            Route("/v1/device_lost", guarded_by(losses.device_lost, admin), methods=["POST"]),
            Route("/v1/pulled", guarded_by(_not_ended, admin), methods=["POST"]),
            Route("/healthz", handlers.health, methods=["GET"]),
            *_reading(coordinator, secrets),
        ]
    )


def make_reading_app(run: FinishedRun, secrets: Secrets) -> Starlette:
    """For a run that has ended: it can be read, and nothing else."""

    async def pulled(request: Request, sender: str) -> Response:
        run.pulled.set()
        return JSONResponse({})

    return make_starlette(
        [
            Route("/healthz", healthy, methods=["GET"]),
            Route("/v1/pulled", guarded_by(pulled, admin_of(secrets)), methods=["POST"]),
            *(Route(f"/v1/{name}", _ended, methods=["POST"]) for name in _WORKERS),
            *_reading(run, secrets),
        ]
    )


async def _ended(request: Request) -> Response:
    """Not a refusal for good: a worker that was told so would throw away what it has sealed."""
    return refusal(503, "the run has ended")


async def _not_ended(request: Request, sender: str) -> Response:
    """Whoever has pulled all of a sealed run may be faster than its coordinator."""
    return refusal(503, "the run has not ended yet")


def _reading(run: RunSource, secrets: Secrets) -> list[Route]:
    admins, admin = ReadingHandlers(run), admin_of(secrets)
    handlers: dict[str, Guarded] = {
        "/v1/state": admins.state,
        "/v1/notices": admins.notices,
        "/v1/journal": admins.journal,
        "/v1/journal/{claim:int}": admins.segment,
        "/v1/logs": admins.logs,
        "/v1/file": admins.file,
        "/v1/bundle": admins.bundle,
    }
    return [
        Route(path, guarded_by(handler, admin), methods=["GET"])
        for path, handler in handlers.items()
    ]


class WorkerHandlers:
    """One method per request; `device` is the sender's."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def lease(self, request: Request, device: str) -> Response:
        asked = await read_body(request, LeaseRequest)
        answer = await self._coordinator.lease(device, asked, request.is_disconnected)
        # Not `asdict`: it would copy the whole case, at a fifth of a lease's cost.
        body = {"answer": type(answer).__name__, **vars(answer)}
        if isinstance(answer, Lease):
            body["limits"] = asdict(answer.limits)
        return JSONResponse(body)

    async def renew(self, request: Request, device: str) -> Response:
        message = await read_body(request, RenewRequest)
        self._coordinator.require_holder(message.token, device)
        return JSONResponse({"expires_s": self._coordinator.renew(message.token)})

    async def unconfined(self, request: Request, device: str) -> Response:
        message = await read_body(request, UnconfinedRequest)
        self._coordinator.require_holder(message.token, device)
        await self._coordinator.unconfined(message.token)
        return JSONResponse({})

    async def commit(self, request: Request, device: str) -> Response:
        token, digest = request.headers.get(LEASE_HEADER), request.headers.get(MANIFEST_HEADER)
        if not token or not digest:
            raise HTTPException(400, f"a commit needs {LEASE_HEADER} and {MANIFEST_HEADER}")
        if device != ADMIN:
            self._coordinator.require_slot(token, device)
        check_length(request, BUNDLE_LIMIT)
        with self._coordinator.spool() as upload:
            size = 0
            try:
                async with asyncio.timeout(BUNDLE_S):
                    async for piece in request.stream():
                        size += len(piece)
                        if size > BUNDLE_LIMIT:
                            raise too_long(BUNDLE_LIMIT)
                        if size <= _IN_MEMORY:
                            upload.write(piece)
                        else:
                            await asyncio.to_thread(upload.write, piece)
            except TimeoutError as error:
                if error.errno is not None:  # the volume's
                    raise self._coordinator.disk_failed(error) from error
                raise HTTPException(408, f"no whole bundle within {BUNDLE_S:g} s") from error
            except OSError as error:
                raise self._coordinator.disk_failed(error) from error
            result = await self._coordinator.commit(token, digest, upload)
        return JSONResponse({"result": result})

    async def give_back(self, request: Request, device: str) -> Response:
        message = await read_body(request, ReturnRequest)
        self._coordinator.require_holder(message.token, device)
        await self._coordinator.give_back(message.token, message.reason)
        return JSONResponse({})

    async def device(self, request: Request, device: str) -> Response:
        await self._coordinator.device(device, await read_body(request, DeviceStartReport))
        return JSONResponse({})

    async def agent(self, request: Request, device: str) -> Response:
        asked = await read_body(request, AgentRequest)
        agents = self._coordinator.agent_containers()
        if agents is None:
            raise HTTPException(409, "agents in images need a fleet of containers")
        return JSONResponse(asdict(await agents.agent(device, asked.command)))

    async def health(self, request: Request) -> Response:
        if self._coordinator.stopped is not None:
            return refusal(503, str(self._coordinator.stopped))
        return JSONResponse({"ok": True})
