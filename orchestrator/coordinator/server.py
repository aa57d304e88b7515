"""The coordinator's HTTP API: its routes and secrets, and the server that listens for requests.

    POST /v1/lease, /v1/renew, /v1/return, /v1/device, /v1/agent    a worker's secret
    POST /v1/commit                                                 a worker's or the admins'
    GET  /v1/state, /v1/journal, /v1/file, /v1/bundle               the admins' secret
    POST /v1/device_lost                                            likewise
    GET  /healthz                                                   no secret

A worker's secret says which device it is of: no request names its device. Every refusal is one
sentence: {"error": "..."}. The size of a body is checked while it arrives.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import EmufarmError, UsageError
from ..evidence.archive import BadArchive
from .admin_api import LossHandlers, ReadingHandlers
from .coordinator import Coordinator, LeaseEnded, NoSuchLease, NotYourLease
from .credentials import Secrets
from .finished_run import RunSource
from .http_body import check_length, read_body, too_long
from .ledger import CoordinatorStopped, RunAlreadySealed
from .messages import (
    LEASE_HEADER,
    MANIFEST_HEADER,
    TOKEN_HEADER,
    AgentRequest,
    DeviceStartReport,
    LeaseRequest,
    RenewRequest,
    ReturnRequest,
)
from .run_files import NoSuchFile

BUNDLE_LIMIT = 512 << 20
BUNDLE_S = 600.0
_IN_MEMORY = 1 << 20  # bytes of an upload; later ones are written to disk, in a thread
_GRACE_S = 10
_IDLE_S = 120  # longer than the pause between two renewals
_BACKLOG = 1024

STATUS = {
    BadArchive: 422,
    NoSuchLease: 404,
    NoSuchFile: 404,
    NotYourLease: 403,
    LeaseEnded: 410,
    RunAlreadySealed: 410,
    CoordinatorStopped: 503,
}

Handler = Callable[[Request], Awaitable[Response]]
# Gets the device whose secret the sender has; ADMIN where the sender has the admins'.
Guarded = Callable[[Request, str], Awaitable[Response]]
ADMIN = ""


class ApiServer(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Does nothing: the application handles signals."""
        yield


@asynccontextmanager
async def listening(
    coordinator: Coordinator, secrets: Secrets, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[str]:
    """Serves the API while its block runs, and yields its base URL. Port 0 picks a free port."""
    app = make_app(coordinator, secrets)
    async with _serving(app, host, port, coordinator.hang_up) as url:
        yield url


@asynccontextmanager
async def reading(
    run: RunSource, secrets: Secrets, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[str]:
    """Serves a run that has ended, to be read, as `listening` serves a coordinator."""
    async with _serving(make_reading_app(run, secrets), host, port, lambda: None) as url:
        yield url


@asynccontextmanager
async def _serving(
    app: Starlette, host: str, port: int, hang_up: Callable[[], None]
) -> AsyncIterator[str]:
    try:
        opened = socket.create_server((host, port), backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(
            f"{host}:{port} cannot be listened on ({error.strerror}): choose another"
        ) from error
    with opened:
        # Inherited by every connection. asyncio would set it itself, but not on sockets of
        # create_server, whose protocol is 0; and without it each answer waits 40 ms for an ACK.
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
            timeout_keep_alive=_IDLE_S,
        )
        server = ApiServer(config)
        serving = asyncio.create_task(server.serve(sockets=[opened]))
        try:
            yield f"http://{host}:{opened.getsockname()[1]}"
        finally:
            hang_up()
            server.should_exit = True
            await serving


def make_app(coordinator: Coordinator, secrets: Secrets) -> Starlette:
    handlers, losses = WorkerHandlers(coordinator), LossHandlers(coordinator)
    admin = _admin(secrets)

    def worker(given: str) -> str | None:
        return secrets.workers.device(given)

    def either(given: str) -> str | None:
        return worker(given) or admin(given)

    return Starlette(
        routes=[
            Route("/v1/lease", _guarded(handlers.lease, worker), methods=["POST"]),
            Route("/v1/renew", _guarded(handlers.renew, worker), methods=["POST"]),
            Route("/v1/commit", _guarded(handlers.commit, either), methods=["POST"]),
            Route("/v1/return", _guarded(handlers.give_back, worker), methods=["POST"]),
            Route("/v1/device", _guarded(handlers.device, worker), methods=["POST"]),
            Route("/v1/agent", _guarded(handlers.agent, worker), methods=["POST"]),
            Route("/v1/device_lost", _guarded(losses.device_lost, admin), methods=["POST"]),
            Route("/healthz", handlers.health, methods=["GET"]),
            *_reading(coordinator, secrets),
        ],
        exception_handlers={HTTPException: _http_error, Exception: _bug},
    )


def make_reading_app(run: RunSource, secrets: Secrets) -> Starlette:
    """For a run that has ended: it can be read, and nothing else."""

    async def health(request: Request) -> Response:
        return JSONResponse({"ok": True})

    return Starlette(
        routes=[Route("/healthz", health, methods=["GET"]), *_reading(run, secrets)],
        exception_handlers={HTTPException: _http_error, Exception: _bug},
    )


def _reading(run: RunSource, secrets: Secrets) -> list[Route]:
    admins, admin = ReadingHandlers(run), _admin(secrets)
    handlers = {
        "/v1/state": admins.state,
        "/v1/journal": admins.journal,
        "/v1/journal/{claim:int}": admins.segment,
        "/v1/file": admins.file,
        "/v1/bundle": admins.bundle,
    }
    return [
        Route(path, _guarded(handler, admin), methods=["GET"]) for path, handler in handlers.items()
    ]


def _admin(secrets: Secrets) -> Callable[[str], str | None]:
    return lambda given: ADMIN if secrets.is_admin(given) else None


class WorkerHandlers:
    """One method per request; `device` is the sender's."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def lease(self, request: Request, device: str) -> Response:
        asked = await read_body(request, LeaseRequest)
        answer = await self._coordinator.lease(device, asked, request.is_disconnected)
        return JSONResponse({"answer": type(answer).__name__, **asdict(answer)})

    async def renew(self, request: Request, device: str) -> Response:
        message = await read_body(request, RenewRequest)
        self._coordinator.require_holder(message.token, device)
        return JSONResponse({"expires_s": self._coordinator.renew(message.token)})

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
                raise HTTPException(408, f"no whole bundle within {BUNDLE_S:g} s") from error
            except OSError as error:
                self._coordinator.disk_failed(error)
                raise
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
        if self._coordinator.agents is None:
            raise HTTPException(409, "agents in images need a fleet of containers")
        return JSONResponse(asdict(await self._coordinator.agents.agent(device, asked.command)))

    async def health(self, request: Request) -> Response:
        if self._coordinator.stopped is not None:
            return _refusal(503, str(self._coordinator.stopped))
        return JSONResponse({"ok": True})


def _guarded(handler: Guarded, sender: Callable[[str], str | None]) -> Handler:
    """Requires a secret whose sender may send this request."""

    async def guarded(request: Request) -> Response:
        device = sender(request.headers.get(TOKEN_HEADER, ""))
        if device is None:
            return _refusal(401, f"{TOKEN_HEADER} is missing or not the one for this request")
        try:
            return await handler(request, device)
        except ClientDisconnect:
            return _refusal(400, "the request ended early")  # nobody reads this answer
        except EmufarmError as error:
            return _refusal(STATUS.get(type(error), 500), str(error))

    return guarded


def _refusal(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _refusal(error.status_code, error.detail)


async def _bug(request: Request, error: Exception) -> Response:
    return _refusal(500, f"the coordinator failed at this request: {type(error).__name__}: {error}")
