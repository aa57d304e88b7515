"""The coordinator's HTTP API: its routes and secrets, and the server that listens for requests.

    POST /v1/lease, /v1/renew, /v1/commit, /v1/return, /v1/device, /v1/agent    the workers' secret
    GET  /v1/state, POST /v1/device_lost                                        the admins' secret
    GET  /healthz                                                               no secret

Every refusal is one sentence: {"error": "..."}. The size of a body is checked while it arrives.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from typing import TypeVar

import uvicorn
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import EmufarmError, UsageError
from ..evidence.archive import BadArchive
from .coordinator import Coordinator, LeaseEnded, NoSuchLease
from .ledger import CoordinatorStopped, RunAlreadySealed
from .messages import (
    LEASE_HEADER,
    MANIFEST_HEADER,
    TOKEN_HEADER,
    AgentRequest,
    DeviceLoss,
    DeviceStartReport,
    LeaseRequest,
    RenewRequest,
    ReturnRequest,
)

JSON_LIMIT = 64 << 10
BUNDLE_LIMIT = 512 << 20
JSON_S = 10.0  # for a body to arrive
BUNDLE_S = 600.0
_IN_MEMORY = 1 << 20  # bytes of an upload; later ones are written to disk, in a thread
_GRACE_S = 10
_IDLE_S = 120  # longer than the pause between two renewals
_BACKLOG = 1024

STATUS = {
    BadArchive: 422,
    NoSuchLease: 404,
    LeaseEnded: 410,
    RunAlreadySealed: 410,
    CoordinatorStopped: 503,
}

M = TypeVar("M", bound=BaseModel)
Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Secrets:
    """There are two: a worker, which runs agents, must not end another worker's lease."""

    worker: str
    admin: str


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
            make_app(coordinator, secrets),
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
            coordinator.hang_up()
            server.should_exit = True
            await serving


def make_app(coordinator: Coordinator, secrets: Secrets) -> Starlette:
    handlers = ApiHandlers(coordinator)
    worker, admin = secrets.worker, secrets.admin
    return Starlette(
        routes=[
            Route("/v1/lease", _guarded(handlers.lease, worker), methods=["POST"]),
            Route("/v1/renew", _guarded(handlers.renew, worker), methods=["POST"]),
            Route("/v1/commit", _guarded(handlers.commit, worker), methods=["POST"]),
            Route("/v1/return", _guarded(handlers.give_back, worker), methods=["POST"]),
            Route("/v1/device", _guarded(handlers.device, worker), methods=["POST"]),
            Route("/v1/agent", _guarded(handlers.agent, worker), methods=["POST"]),
            Route("/v1/state", _guarded(handlers.state, admin), methods=["GET"]),
            Route("/v1/device_lost", _guarded(handlers.device_lost, admin), methods=["POST"]),
            Route("/healthz", handlers.health, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _http_error, Exception: _bug},
    )


class ApiHandlers:
    """One method per request."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def lease(self, request: Request) -> Response:
        asked = await _body(request, LeaseRequest)
        answer = await self._coordinator.lease(asked, request.is_disconnected)
        return JSONResponse({"answer": type(answer).__name__, **asdict(answer)})

    async def renew(self, request: Request) -> Response:
        message = await _body(request, RenewRequest)
        return JSONResponse({"expires_s": self._coordinator.renew(message.token)})

    async def commit(self, request: Request) -> Response:
        token, digest = request.headers.get(LEASE_HEADER), request.headers.get(MANIFEST_HEADER)
        if not token or not digest:
            raise HTTPException(400, f"a commit needs {LEASE_HEADER} and {MANIFEST_HEADER}")
        _check_length(request, BUNDLE_LIMIT)
        with self._coordinator.spool() as upload:
            size = 0
            try:
                async with asyncio.timeout(BUNDLE_S):
                    async for piece in request.stream():
                        size += len(piece)
                        if size > BUNDLE_LIMIT:
                            raise _too_long(BUNDLE_LIMIT)
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

    async def give_back(self, request: Request) -> Response:
        message = await _body(request, ReturnRequest)
        await self._coordinator.give_back(message.token, message.reason)
        return JSONResponse({})

    async def device(self, request: Request) -> Response:
        await self._coordinator.device(await _body(request, DeviceStartReport))
        return JSONResponse({})

    async def agent(self, request: Request) -> Response:
        asked = await _body(request, AgentRequest)
        if self._coordinator.agents is None:
            raise HTTPException(409, "agents in images need a fleet of containers")
        return JSONResponse(
            asdict(await self._coordinator.agents.agent(asked.device, asked.command))
        )

    async def state(self, request: Request) -> Response:
        return JSONResponse(self._coordinator.view())

    async def device_lost(self, request: Request) -> Response:
        await self._coordinator.device_lost(await _body(request, DeviceLoss))
        return JSONResponse({})

    async def health(self, request: Request) -> Response:
        if self._coordinator.stopped is not None:
            return _refusal(503, str(self._coordinator.stopped))
        return JSONResponse({"ok": True})


def _guarded(handler: Handler, secret: str) -> Handler:
    """Requires this secret, compared in constant time; an empty secret is never accepted."""

    async def guarded(request: Request) -> Response:
        given = request.headers.get(TOKEN_HEADER, "")
        if not secret or not hmac.compare_digest(given.encode(), secret.encode()):
            return _refusal(401, f"{TOKEN_HEADER} is missing or not the one for this request")
        try:
            return await handler(request)
        except ClientDisconnect:
            return _refusal(400, "the request ended early")  # nobody reads this answer
        except EmufarmError as error:
            return _refusal(STATUS.get(type(error), 500), str(error))

    return guarded


async def _body(request: Request, model: type[M]) -> M:
    _check_length(request, JSON_LIMIT)
    data = bytearray()
    try:
        async with asyncio.timeout(JSON_S):
            async for piece in request.stream():
                data += piece
                if len(data) > JSON_LIMIT:
                    raise _too_long(JSON_LIMIT)
    except TimeoutError as error:
        raise HTTPException(408, f"no whole body within {JSON_S:g} s") from error
    try:
        return model.model_validate_json(bytes(data))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise HTTPException(400, f"{where}: {first['msg']}" if where else first["msg"]) from error


def _check_length(request: Request, limit: int) -> None:
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limit:
        raise _too_long(limit)


def _too_long(limit: int) -> HTTPException:
    return HTTPException(413, f"the body is longer than {limit} bytes")


def _refusal(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _refusal(error.status_code, error.detail)


async def _bug(request: Request, error: Exception) -> Response:
    return _refusal(500, f"the coordinator failed at this request: {type(error).__name__}: {error}")
