"""On which socket does the API listen, and how does it end?"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from ..errors import UsageError
from .coordinator import Coordinator
from .server import Secrets, app

_GRACE_S = 10
_IDLE_S = 120  # longer than a worker is silent between two renewals
_BACKLOG = 1024


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the command line's."""
        yield


@asynccontextmanager
async def listening(
    coordinator: Coordinator, secrets: Secrets, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[str]:
    """The base URL of the API; requests wait in the socket from here on. Port 0: a free one."""
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
            app(coordinator, secrets),
            http="httptools",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
            timeout_keep_alive=_IDLE_S,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[opened]))
        try:
            yield f"http://{host}:{opened.getsockname()[1]}"
        finally:
            coordinator.hang_up()
            server.should_exit = True
            await serving
