"""Takes a new run's documents over HTTP, for a coordinator whose volume is still empty.

    GET /v1/intake              whether a run can begin here, and why not
    PUT /v1/documents/NAME      one file of the run's folder; the plan is the last

All with the admins' secret. Once the plan is there, the intake ends and the coordinator begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..files import write_atomically
from ..plan.store import FILE as PLAN
from .credentials import Secrets
from .http_body import read_bytes
from .http_server import admin_of, guarded_by, healthy, make_starlette, serving

LIMIT = 256 << 20  # bytes of one document; a plan holds its cases
DOCUMENT_S = 300.0


class Intake:
    """The documents of one run, as they come. `trouble` is why the run cannot begin here, once that
    is `checked`; until then, what the check waits for."""

    def __init__(self, folder: Path, names: Collection[str]) -> None:
        self.folder = folder
        self.trouble, self.checked = "", False
        self.whole = asyncio.Event()
        self._names = frozenset(names)
        if (folder / PLAN).is_file():  # it came before this process was started
            self.whole.set()

    async def state(self, request: Request, sender: str) -> Response:
        return JSONResponse({"checked": self.checked, "trouble": self.trouble})

    async def document(self, request: Request, sender: str) -> Response:
        name = request.path_params["name"]
        if name not in self._names:
            raise HTTPException(404, f"{name!r} is no document that a run begins with")
        missing = sorted(one for one in self._names if not (self.folder / one).is_file())
        if name == PLAN and missing not in ([], [PLAN]):
            raise HTTPException(409, f"the plan is sent last, and {missing} did not come yet")
        content = await read_bytes(request, LIMIT, DOCUMENT_S)
        await asyncio.to_thread(self._write, name, content)
        if name == PLAN:
            self.whole.set()
        return JSONResponse({})

    def _write(self, name: str, content: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.folder / name, [content])


@asynccontextmanager
async def taking(
    intake: Intake, secrets: Secrets, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[str]:
    """While its block runs; yields the base URL."""
    admin = admin_of(secrets)
    app = make_starlette(
        [
            Route("/healthz", healthy, methods=["GET"]),
            Route("/v1/intake", guarded_by(intake.state, admin), methods=["GET"]),
            Route("/v1/documents/{name}", guarded_by(intake.document, admin), methods=["PUT"]),
        ]
    )
    async with serving(app, host, port) as url:
        yield url
