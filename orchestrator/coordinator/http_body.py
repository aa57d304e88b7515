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
    data = await read_bytes(request, JSON_LIMIT, JSON_S)
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise HTTPException(400, f"{where}: {first['msg']}" if where else first["msg"]) from error


async def read_bytes(request: Request, limit: int, seconds: float) -> bytes:
    """The whole body. An HTTPException where it is too long, or too slow."""
    check_length(request, limit)
    data = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                data += piece
                if len(data) > limit:
                    raise too_long(limit)
    except TimeoutError as error:
        raise HTTPException(408, f"no whole body within {seconds:g} s") from error
    return bytes(data)


def check_length(request: Request, limit: int) -> None:
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limit:
        raise too_long(limit)


def too_long(limit: int) -> HTTPException:
    return HTTPException(413, f"the body is longer than {limit} bytes")
