"""Reads the body of a request: bounded in size and time, checked against its model."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

JSON_LIMIT = 64 << 10
JSON_S = 10.0  # for a body to arrive

M = TypeVar("M", bound=BaseModel)


async def read_body(request: Request, model: type[M]) -> M:
    check_length(request, JSON_LIMIT)
    data = bytearray()
    try:
        async with asyncio.timeout(JSON_S):
            async for piece in request.stream():
                data += piece
                if len(data) > JSON_LIMIT:
                    raise too_long(JSON_LIMIT)
    except TimeoutError as error:
        raise HTTPException(408, f"no whole body within {JSON_S:g} s") from error
    try:
        return model.model_validate_json(bytes(data))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise HTTPException(400, f"{where}: {first['msg']}" if where else first["msg"]) from error


def check_length(request: Request, limit: int) -> None:
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limit:
        raise too_long(limit)


def too_long(limit: int) -> HTTPException:
    return HTTPException(413, f"the body is longer than {limit} bytes")
