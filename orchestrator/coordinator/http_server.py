"""Serves an HTTP application, checks who sends a request, and turns errors into one sentence.

Every refusal is JSON: {"error": "..."}. What a connection may cost is in http_connections.py.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import EmufarmError, UsageError
from ..evidence.archive import BadArchive
from .coordinator import LeaseEnded, NoSuchLease, NotYourLease
from .credentials import Secrets
from .http_connections import LIMITS, BoundedConfig, ConnectionLimits, mark_known
from .ledger import CoordinatorStopped, RunAlreadySealed, VolumeAway
from .log_rate import bounded_log
from .messages import TOKEN_HEADER
from .run_files import NoSuchFile

_GRACE_S = 10
_IDLE_S = 120  # longer than the pause between two renewals
_BACKLOG = 1024  # connections that the kernel keeps until they are accepted
# In one turn of the loop. Far fewer than strangers have places: after some turns their requests are
# read and their senders known, so that many workers at once do not drive one another out.
_ACCEPTED_AT_ONCE = 32

STATUS = {
    BadArchive: 422,
    NoSuchLease: 404,
    NoSuchFile: 404,
    NotYourLease: 403,
    LeaseEnded: 410,
    RunAlreadySealed: 410,
    CoordinatorStopped: 503,
    VolumeAway: 503,
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

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_BACKLOG)  # asyncio has one number for this and for the other


@asynccontextmanager
async def serving(
    app: Starlette,
    host: str,
    port: int,
    hang_up: Callable[[], None] = lambda: None,
    limits: ConnectionLimits = LIMITS,
) -> AsyncIterator[str]:
    """While its block runs; yields its base URL. Port 0 picks a free port. `hang_up` is called
    before it stops, so that requests that wait are answered."""
    try:
        opened = socket.create_server((host, port), backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(
            f"{host}:{port} cannot be listened on ({error.strerror}): choose another"
        ) from error
    with opened, bounded_log():
        # Inherited by every connection. asyncio would set it itself, but not on sockets of
        # create_server, whose protocol is 0; and without it each answer waits 40 ms for an ACK.
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = BoundedConfig(
            app,
            limits,
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
            timeout_keep_alive=_IDLE_S,
            backlog=_ACCEPTED_AT_ONCE,
        )
        server = ApiServer(config)
        serving = asyncio.create_task(server.serve(sockets=[opened]))
        try:
            yield f"http://{host}:{opened.getsockname()[1]}"
        finally:
            hang_up()
            server.should_exit = True
            await serving


def make_starlette(routes: Sequence[Route]) -> Starlette:
    return Starlette(
        routes=routes, exception_handlers={HTTPException: _http_error, Exception: _bug}
    )


async def healthy(request: Request) -> Response:
    return JSONResponse({"ok": True})


def admin_of(secrets: Secrets) -> Callable[[str], str | None]:
    return lambda given: ADMIN if secrets.is_admin(given) else None


def guarded_by(handler: Guarded, sender: Callable[[str], str | None]) -> Handler:
    """Requires a secret whose sender may send this request."""

    async def guarded(request: Request) -> Response:
        device = sender(request.headers.get(TOKEN_HEADER, ""))
        if device is None:
            return refusal(401, f"{TOKEN_HEADER} is missing or not the one for this request")
        mark_known(request, device)
        try:
            return await handler(request, device)
        except ClientDisconnect:
            return refusal(400, "the request ended early")  # nobody reads this answer
        except EmufarmError as error:
            return refusal(STATUS.get(type(error), 500), str(error))

    return guarded


def refusal(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refusal(error.status_code, error.detail)


async def _bug(request: Request, error: Exception) -> Response:
    return refusal(500, f"the coordinator failed at this request: {type(error).__name__}: {error}")
