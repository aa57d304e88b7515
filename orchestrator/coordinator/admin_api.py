"""The admins' requests: the state, the journal as it grows, files, and losses that a backend saw.

    GET /v1/journal?after=BYTES&wait=SECONDS    its segments and how long each is, once all together
                                                are longer than this
    GET /v1/journal/CLAIM?from=BYTES            the bytes of a segment from there on
    GET /v1/notices?after=COUNT                 lines for a person, once there were so many
    GET /v1/logs, /v1/file, /v1/bundle          see run_files.py

Only lines that were acknowledged are given out, so a copy never holds one that does not count.
"""

from __future__ import annotations

import asyncio

from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from . import run_files
from .coordinator import Coordinator
from .finished_run import RunSource
from .http_body import read_body
from .messages import DeviceLoss

LONGEST_WAIT_S = 60
PIECE = 4 << 20  # bytes of a segment in one answer


class LossHandlers:
    """What only a living coordinator can be told."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def device_lost(self, request: Request, sender: str) -> Response:
        await self._coordinator.device_lost(await read_body(request, DeviceLoss))
        return JSONResponse({})


class ReadingHandlers:
    """One method per request."""

    def __init__(self, run: RunSource) -> None:
        self._run = run

    async def state(self, request: Request, sender: str) -> Response:
        return JSONResponse(self._run.view())

    async def notices(self, request: Request, sender: str) -> Response:
        count, lines = self._run.notices.after(_number(request, "after"))
        body = {"count": count, "lines": lines, "served_only": self._run.served_only}
        return JSONResponse(body)

    async def journal(self, request: Request, sender: str) -> Response:
        wait = min(_number(request, "wait"), LONGEST_WAIT_S)
        segments = await self._run.journal_after(_number(request, "after"), wait)
        return JSONResponse(
            [{"claim": segment.claim, "length": segment.length} for segment in segments]
        )

    async def segment(self, request: Request, sender: str) -> Response:
        claim, start = request.path_params["claim"], _number(request, "from")
        found = [each for each in self._run.segments() if each.claim == claim]
        if not found:
            raise HTTPException(404, f"the journal has no segment {claim}")
        length = min(max(found[0].length - start, 0), PIECE)
        data = await asyncio.to_thread(self._run.journal_bytes, claim, start, length)
        whole = data[: data.rfind(b"\n") + 1]  # no piece ends within a line
        return Response(whole, media_type="application/octet-stream")

    async def logs(self, request: Request, sender: str) -> Response:
        return JSONResponse(await asyncio.to_thread(run_files.logs, self._run.folder))

    async def file(self, request: Request, sender: str) -> Response:
        name = request.query_params.get("name", "")
        place = await asyncio.to_thread(run_files.document, self._run.folder, name)
        return FileResponse(place, media_type="application/octet-stream")

    async def bundle(self, request: Request, sender: str) -> Response:
        folder = request.query_params.get("folder", "")
        packed = await asyncio.to_thread(run_files.packed_bundle, self._run.folder, folder)
        return FileResponse(
            packed.name,
            media_type="application/octet-stream",
            background=BackgroundTask(packed.close),
        )


def _number(request: Request, name: str) -> int:
    value = request.query_params.get(name, "0")
    if not value.isdecimal() or len(value) > 18:
        raise HTTPException(400, f"{name}: {value!r} is no count")
    return int(value)
