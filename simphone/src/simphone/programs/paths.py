"""Programs that answer about paths and sizes: readlink, basename, dd, truncate, mktemp."""

from __future__ import annotations

import asyncio
import errno
import os
import random

from ..disk import failure
from ..streams import Sink, Source
from .call import Call
from .files import complain, entry, needs
from .flags import BadUsage, BadValue, flags, size
from .opening import FileSink, close, open_sink, open_source, reason

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
OPERANDS = frozenset(
    ("if", "of", "bs", "ibs", "obs", "count", "skip", "seek", "status", "conv", "iflag", "oflag")
)
MAX_BLOCK = 16 << 20
MAX_SIZE = 4 << 30


async def basename(call: Call) -> int:
    given = flags(call.args, "as:")
    needs(given.rest)
    suffix = given.value("s")
    names = given.rest
    if "a" not in given and "s" not in given and len(names) > 1:
        if len(names) > 2:
            raise BadValue("too many args")
        names, suffix = names[:1], names[1]
    for name in names:
        shown = os.path.basename(name.rstrip("/")) or ("/" if name else ".")
        if suffix and shown != suffix:
            shown = shown.removesuffix(suffix)
        await call.out(shown + "\n")
    return 0


async def dirname(call: Call) -> int:
    needs(call.args)
    for name in call.args:
        stripped = name.rstrip("/")
        if not stripped and name:
            shown = "/"
        else:
            head, slash, _ = stripped.rpartition("/")
            shown = head.rstrip("/") or (head + slash if slash else ".")
        await call.out(shown + "\n")
    return 0


async def readlink(call: Call) -> int:
    given = flags(call.args, "fenmq")
    needs(given.rest)
    end = "" if "n" in given else "\n"
    status = 0
    for path in given.rest:
        try:
            if given.names & {"f", "e", "m"}:
                shown = call.world.disk.canonical(path, call.cwd)
                if "e" in given:
                    entry(call, path)
            else:
                shown = entry(call, path, follow=False).target
        except OSError:
            shown = ""  # readlink says nothing and fails
        if shown:
            await call.out(shown + end)
        else:
            status = 1
    return status


async def realpath(call: Call) -> int:
    given = flags(call.args, "emLPsz")
    needs(given.rest)
    status = 0
    for path in given.rest:
        try:
            entry(call, path)
            await call.out(call.world.disk.canonical(path, call.cwd) + "\n")
        except OSError as error:
            status = await complain(call, path, error)
    return status


async def truncate(call: Call) -> int:
    given = flags(call.args, "cs:", {"size": "s"})
    needs(given.rest)
    if "s" not in given:
        raise BadUsage("Needs -s")
    text = given.value("s")
    status = 0
    for path in given.rest:
        try:
            if "c" in given and not call.world.disk.exists(path, call.uid, call.cwd):
                continue
            call.world.disk.create(path, call.uid, call.cwd, append=True).close()
            now = entry(call, path).size
            change = size(text.lstrip("+-<>/%"))
            wanted = now + change if text[0] == "+" else now - change if text[0] == "-" else change
            if wanted > MAX_SIZE:
                raise failure(errno.EFBIG, path)
            os.truncate(call.world.disk.writable(path, call.uid, call.cwd), max(0, wanted))
        except OSError as error:
            status = await complain(call, path, error, quoted=True)
    return status


async def mktemp(call: Call) -> int:
    given = flags(call.args, "dqup:t")
    folder = given.value("p") or call.env.get("TMPDIR", "/data/local/tmp")
    template = given.rest[0] if given.rest else "tmp.XXXXXXXXXX"
    if "/" not in template and (not given.rest or given.names & {"t"} or "p" in given):
        template = f"{folder}/{template}"
    marks = len(template) - len(template.rstrip("X"))
    if marks < 3:
        return await call.fail("mktemp: need XXX")
    chosen = "".join(random.SystemRandom().choices(LETTERS, k=marks))
    path = template[:-marks] + chosen
    try:
        if "u" not in given:
            host = call.world.disk.writable(path, call.uid, call.cwd)
            if "d" in given:
                host.mkdir(mode=0o700)
            else:
                call.world.disk.create(path, call.uid, call.cwd).close()
    except OSError as error:
        kind = "directory" if "d" in given else "file"
        return await call.fail(f"mktemp: Failed to create {kind} {template}: {reason(error)}")
    await call.out(path + "\n")
    return 0


async def dd(call: Call) -> int:
    values = {"bs": "512", "skip": "0", "seek": "0", "status": "", "conv": ""}
    for arg in call.args:
        name, given, value = arg.partition("=")
        if not given or name not in OPERANDS:
            return await call.fail(f"dd: unknown operand {arg}")
        values[name] = value
    block = size(values["bs"])
    if not 0 < block <= MAX_BLOCK:
        return await call.fail(f"dd: bad bs={values['bs']}")
    left = size(values["count"]) if "count" in values else -1
    skip = size(values["skip"]) * block
    source = open_source(call, values["if"]) if "if" in values else call.stdin
    sink: Sink = call.stdout
    full = partial = total = 0
    try:
        if "of" in values:
            sink = _output(
                call, values["of"], size(values["seek"]) * block, keep="notrunc" in values["conv"]
            )
        while skip > 0 and (chunk := await source.read(min(skip, MAX_BLOCK))):
            skip -= len(chunk)
        while left != 0:
            data = await _block(source, block)
            if not data:
                break
            await sink.write(data)
            await asyncio.sleep(0)
            total += len(data)
            full, partial = (full + 1, partial) if len(data) == block else (full, partial + 1)
            left -= 1
    finally:
        close(source)
        close(sink)
    if values["status"] not in ("none", "noxfer"):
        records = f"{full}+{partial} records"
        await call.err(
            f"{records} in\n{records} out\n{total} bytes ({total} B) copied, 0 s, 0 B/s\n"
        )
    return 0


async def _block(source: Source, size: int) -> bytes:
    """A whole block where there is one: a pipe gives what it has, dd goes on asking."""
    pieces: list[bytes] = []
    missing = size
    while missing and (chunk := await source.read(missing)):
        pieces.append(chunk)
        missing -= len(chunk)
    return b"".join(pieces)


def _output(call: Call, path: str, seek: int, *, keep: bool) -> Sink:
    if not seek and not keep:
        return open_sink(call, path)
    opened = call.world.disk.create(path, call.uid, call.cwd, keep=True)
    opened.seek(min(seek, MAX_SIZE))
    if not keep:
        opened.truncate()
    return FileSink(opened)


async def sync(call: Call) -> int:
    return 0


PROGRAMS = {
    "basename": basename,
    "dirname": dirname,
    "readlink": readlink,
    "realpath": realpath,
    "truncate": truncate,
    "mktemp": mktemp,
    "dd": dd,
    "sync": sync,
}
