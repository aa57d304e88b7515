"""The admins' requests: the state, the journal as it grows, and losses that a backend saw.

    GET /v1/journal?after=BYTES&wait=SECONDS    its segments and how long each is, once all together
                                                are longer than this
    GET /v1/journal/CLAIM?from=BYTES            the bytes of a segment from there on

Only lines that were acknowledged are given out, so a copy never holds one that does not count.
"""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .coordinator import Coordinator
from .http_body import read_body
from .messages import DeviceLoss

LONGEST_WAIT_S = 60
PIECE = 4 << 20  # bytes of a segment in one answer


class AdminHandlers:
    """One method per request."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def state(self, request: Request, sender: str) -> Response:
        return JSONResponse(self._coordinator.view())

    async def device_lost(self, request: Request, sender: str) -> Response:
        await self._coordinator.device_lost(await read_body(request, DeviceLoss))
        return JSONResponse({})

    async def journal(self, request: Request, sender: str) -> Response:
        wait = min(_number(request, "wait"), LONGEST_WAIT_S)
        segments = await self._coordinator.journal_after(_number(request, "after"), wait)
        return JSONResponse(
            [{"claim": segment.claim, "length": segment.length} for segment in segments]
        )

    async def segment(self, request: Request, sender: str) -> Response:
        claim, start = request.path_params["claim"], _number(request, "from")
        found = [each for each in self._coordinator.segments() if each.claim == claim]
        if not found:
            raise HTTPException(404, f"the journal has no segment {claim}")
        length = min(max(found[0].length - start, 0), PIECE)
        data = await asyncio.to_thread(self._coordinator.journal_bytes, claim, start, length)
        whole = data[: data.rfind(b"\n") + 1]  # no piece ends within a line
        return Response(whole, media_type="application/octet-stream")


def _number(request: Request, name: str) -> int:
    value = request.query_params.get(name, "0")
    if not value.isdecimal() or len(value) > 18:
        raise HTTPException(400, f"{name}: {value!r} is no count")
    return int(value)
