"""`content`: queries and changes the content providers from the shell.

It exits 0 whatever happens, and prints values as they are: callers must judge by text.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from ..providers import PROVIDERS
from ..providers.provider import NO_FILE, Provider, ProviderError, Wanted, java_error
from ..providers.uri import Uri, parse
from ..system import framework_up
from .call import Call, Program
from .content_arguments import USAGE, Request, UsageError, read_request
from .opening import copy, reading, reason, writing

NO_FRAMEWORK = (
    "java.lang.NullPointerException: Attempt to invoke interface method "
    "'android.app.ContentProviderHolder android.app.IActivityManager.getContentProviderExternal"
    "(java.lang.String, int, android.os.IBinder, java.lang.String)' on a null object reference"
)
_TRACE = """\tat android.os.Parcel.createExceptionOrNull(Parcel.java:3057)
\tat android.os.Parcel.createException(Parcel.java:3041)
\tat android.database.DatabaseUtils.readExceptionFromParcel(DatabaseUtils.java:190)
\tat android.database.DatabaseUtils.readExceptionFromParcel(DatabaseUtils.java:142)
\tat android.content.ContentProviderProxy.{method}(ContentProviderNative.java:481)
\tat com.android.commands.content.Content${command}Command.onExecute(Content.java:631)
"""
_TRACE_END = """\tat com.android.commands.content.Content$Command.execute(Content.java:521)
\tat com.android.commands.content.Content.main(Content.java:735)
\tat com.android.internal.os.RuntimeInit.nativeFinishInit(Native Method)
\tat com.android.internal.os.RuntimeInit.main(RuntimeInit.java:355)
"""


async def content(call: Call) -> int:
    await call.world.noise.lag()
    call.world.tick()
    try:
        request = read_request(call.java_args)
    except UsageError as error:
        await call.out(f"{USAGE}\n[ERROR] {error}\n")
        return 0
    uri = parse(request.uri)
    if not framework_up(call.world):
        return await _failed(call, uri, NO_FRAMEWORK, "")
    provider = PROVIDERS.get(uri.authority) if request.user in ("0", "current") else None
    if provider is None:
        missing = f"java.lang.IllegalStateException: Could not find provider: {uri.authority}"
        return await _failed(call, uri, missing, "")
    try:
        if request.verb in ("read", "write"):
            return await _transfer(call, provider, uri, writes=request.verb == "write")
        answer = _execute(call, provider, uri, request)
    except sqlite3.Error as error:  # in what a provider derives from its rows
        return await _failed(call, uri, str(java_error(error, "")), "")
    except ProviderError as error:
        trace = _TRACE.format(method=request.verb, command=request.verb.capitalize())
        return await _failed(call, uri, str(error), trace)
    await call.out(call.world.faults.at(f"content.{request.verb}", answer))
    return 0


async def _transfer(call: Call, provider: Provider, uri: Uri, *, writes: bool) -> int:
    """A file behind a URI, to stdout or from stdin."""
    path = provider.file(call.world, uri)
    try:
        if writes:
            with writing(call, path) as sink:
                await copy(call.stdin, sink)
        else:
            with reading(call, path) as source:
                await copy(source, call.stdout)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ProviderError(NO_FILE, f"{path}: open failed: {reason(error)}") from error
    return 0


async def _failed(call: Call, uri: Uri, error: str, trace: str) -> int:
    await call.err(f"Error while accessing provider:{uri.authority}\n{error}\n{trace}{_TRACE_END}")
    return 0


def _execute(call: Call, provider: Provider, uri: Uri, request: Request) -> str:
    world = call.world
    match request.verb:
        case "query":
            wanted = Wanted(request.projection, request.where, request.sort)
            result = provider.query(world, uri, wanted)
            return rows_text(result.columns, result.rows)
        case "insert":
            provider.insert(world, uri, request.values, call.uid)
        case "update":
            provider.update(world, uri, request.values, request.where, call.uid)
        case "delete":
            provider.delete(world, uri, request.where, call.uid)
        case "call":
            return f"Result: {provider.call(world, request.method, request.arg) or 'null'}\n"
        case "gettype":
            table, fixed, _ = provider.find(world, uri)
            kind = "item" if "= ?" in fixed else "dir"
            return f"Result: vnd.android.cursor.{kind}/{table.name or table.source}\n"
    return ""


def rows_text(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Rows as `content` prints them: nothing is escaped."""
    if not rows:
        return "No result found.\n"
    return "".join(
        f"Row: {index} "
        + ", ".join(f"{name}={_shown(value)}" for name, value in zip(columns, row, strict=True))
        + "\n"
        for index, row in enumerate(rows)
    )


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    return "BLOB" if isinstance(value, bytes) else str(value)


PROGRAMS: dict[str, Program] = {"content": content}
