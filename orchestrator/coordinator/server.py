"""How do workers and admins reach the coordinator? A small, strict HTTP API.

    POST /v1/lease, /v1/renew, /v1/commit, /v1/return, /v1/device, /v1/agent    the workers' secret
    GET  /v1/state, POST /v1/fact                                               the admins' secret
    GET  /healthz                                                               anybody

Every refusal is one sentence: {"error": "..."}. Bodies are bounded while they arrive.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import EmufarmError
from ..evidence.archive import BadArchive
from .coordinator import Coordinator, LeaseEnded, NoSuchLease
from .ledger import RunOver, Stopped
from .messages import (
    LEASE_HEADER,
    MANIFEST_HEADER,
    TOKEN_HEADER,
    AgentAsk,
    DeviceLoss,
    DeviceNote,
    LeaseAsk,
    Renew,
    Return,
)

JSON_LIMIT = 64 << 10
BUNDLE_LIMIT = 512 << 20
JSON_S = 10.0  # for a body to arrive
BUNDLE_S = 600.0
_IN_LOOP = 1 << 20  # bytes of an upload that are still in memory; later ones wait for the disk

STATUS = {BadArchive: 422, NoSuchLease: 404, LeaseEnded: 410, RunOver: 410, Stopped: 503}

M = TypeVar("M", bound=BaseModel)
Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Secrets:
    """Two of them: a worker, which runs agents, may not end another's lease."""

    worker: str
    admin: str


def app(coordinator: Coordinator, secrets: Secrets) -> Starlette:
    calls = Calls(coordinator)
    worker, admin = secrets.worker, secrets.admin
    return Starlette(
        routes=[
            Route("/v1/lease", _guarded(calls.lease, worker), methods=["POST"]),
            Route("/v1/renew", _guarded(calls.renew, worker), methods=["POST"]),
            Route("/v1/commit", _guarded(calls.commit, worker), methods=["POST"]),
            Route("/v1/return", _guarded(calls.give_back, worker), methods=["POST"]),
            Route("/v1/device", _guarded(calls.device, worker), methods=["POST"]),
            Route("/v1/agent", _guarded(calls.agent, worker), methods=["POST"]),
            Route("/v1/state", _guarded(calls.state, admin), methods=["GET"]),
            Route("/v1/fact", _guarded(calls.fact, admin), methods=["POST"]),
            Route("/healthz", calls.health, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _http_error, Exception: _bug},
    )


class Calls:
    """One method per request."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def lease(self, request: Request) -> Response:
        ask = await _body(request, LeaseAsk)
        answer = await self._coordinator.lease(ask, request.is_disconnected)
        return JSONResponse({"answer": type(answer).__name__.lower(), **asdict(answer)})

    async def renew(self, request: Request) -> Response:
        message = await _body(request, Renew)
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
                        if size <= _IN_LOOP:
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
        message = await _body(request, Return)
        await self._coordinator.give_back(message.token, message.reason)
        return JSONResponse({})

    async def device(self, request: Request) -> Response:
        await self._coordinator.device(await _body(request, DeviceNote))
        return JSONResponse({})

    async def agent(self, request: Request) -> Response:
        ask = await _body(request, AgentAsk)
        if self._coordinator.agents is None:
            raise HTTPException(409, "agents in images need a fleet of containers")
        return JSONResponse(asdict(await self._coordinator.agents.agent(ask.device, ask.want)))

    async def state(self, request: Request) -> Response:
        return JSONResponse(self._coordinator.view())

    async def fact(self, request: Request) -> Response:
        await self._coordinator.device_lost(await _body(request, DeviceLoss))
        return JSONResponse({})

    async def health(self, request: Request) -> Response:
        if self._coordinator.stopped is not None:
            return _refusal(503, str(self._coordinator.stopped))
        return JSONResponse({"ok": True})


def _guarded(handler: Handler, secret: str) -> Handler:
    """Only with this secret, compared in constant time; an empty one opens nothing."""

    async def guarded(request: Request) -> Response:
        given = request.headers.get(TOKEN_HEADER, "")
        if not secret or not hmac.compare_digest(given.encode(), secret.encode()):
            return _refusal(401, f"{TOKEN_HEADER} is missing or not the one for this request")
        try:
            return await handler(request)
        except ClientDisconnect:
            return _refusal(400, "the request ended early")  # there is nobody to read it
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
