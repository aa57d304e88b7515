"""gzip and tar: archives whose members stay below the folder they are unpacked in."""

from __future__ import annotations

import asyncio
import io
import os
import stat
import tarfile
import zlib
from collections.abc import AsyncIterator
from fnmatch import fnmatchcase

from ..layout import user
from ..streams import Sink, Source
from .call import Call
from .files import complain, entry, make_folder
from .flags import BadUsage, Flags, flags
from .listing import stamp
from .opening import chunks, copy, reading, reason, writing
from .text import MAX_HELD, read_input

LONG = {"directory": "C", "file": "f", "gzip": "z", "exclude": "X", "to-stdout": "O"}
GZIP = 31  # zlib's window bits for a gzip header
MAX_DEPTH = 64
MAX_UNPACKED = 4 << 30


async def deflated(source: Source, level: int = 6) -> AsyncIterator[bytes]:
    engine = zlib.compressobj(level, zlib.DEFLATED, GZIP)
    async for chunk in chunks(source):
        yield engine.compress(chunk)
    yield engine.flush()


async def inflated(source: Source) -> AsyncIterator[bytes]:
    """zlib.error on anything that is not whole gzip data."""
    engine = zlib.decompressobj(GZIP)
    async for chunk in chunks(source):
        data = chunk
        while data:
            yield engine.decompress(data, 1 << 20)
            await asyncio.sleep(0)
            data = engine.unconsumed_tail
            if engine.eof:
                data = engine.unused_data
                engine = zlib.decompressobj(GZIP) if data else engine
    if not engine.eof:
        raise zlib.error("unexpected end of file")


async def gzip(call: Call) -> int:
    given = flags(call.args, "cdfkqtn123456789", {"stdout": "c", "decompress": "d", "keep": "k"})
    name = call.name.rpartition("/")[2]
    unpack = "d" in given or name in ("gunzip", "zcat")
    level = next((int(letter) for letter in "123456789" if letter in given), 6)
    status = 0
    for path in given.rest or ["-"]:
        to_stdout = "c" in given or name == "zcat" or path == "-"
        target = path.removesuffix(".gz") if unpack else path + ".gz"
        try:
            if not to_stdout and target == path and entry(call, path).path:
                status = await call.fail(f"{name}: {path}: no .gz")
                continue
            with reading(call, path) as source:
                pieces = inflated(source) if unpack else deflated(source, level)
                if to_stdout:
                    await _drain(pieces, call.stdout)
                    continue
                if call.world.disk.exists(target, call.uid, call.cwd) and "f" not in given:
                    status = await call.fail(f"{name}: {target}: File exists")
                    continue
                with writing(call, target) as sink:
                    await _drain(pieces, sink)
            if "k" not in given:
                call.world.disk.writable(path, call.uid, call.cwd).unlink()
        except OSError as error:
            status = await complain(call, path, error)
        except zlib.error:
            status = await call.fail(f"{name}: inflate EOF")
    return status


async def _drain(pieces: AsyncIterator[bytes], sink: Sink) -> None:
    total = 0
    async for piece in pieces:
        total += len(piece)
        if total > MAX_UNPACKED:
            raise zlib.error("too much data")
        await sink.write(piece)


def inside(name: str) -> str:
    """A member's name without what would lead out of the folder; empty where nothing is left."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return "" if ".." in parts else "/".join(parts)


async def tar(call: Call) -> int:
    args = call.args
    if args and not args[0].startswith("-"):
        args = ["-" + args[0], *args[1:]]
    given = flags(args, "cxtzvf:C:OkphPajX:", LONG)
    modes = [letter for letter in "cxt" if letter in given]
    if len(modes) != 1:
        raise BadUsage("Needs -txc")
    base = given.value("C") or call.cwd
    try:
        call.world.disk.names(base, call.uid, call.cwd)
    except OSError as error:
        return await call.fail(f"tar: chdir '{base}': {reason(error)}")
    folder = call.world.disk.canonical(base, call.cwd)
    path = given.value("f", "-")
    if modes == ["c"]:
        packed = given.names & {"z", "a"} and (path.endswith("gz") or "z" in given)
        return await _pack(call, path, folder, given, packed=bool(packed))
    data = await read_input(call, path)
    try:
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompressobj(GZIP).decompress(data, MAX_HELD)
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            return await _unpack(call, archive, folder, given)
    except (tarfile.TarError, zlib.error, EOFError, ValueError):
        return await call.fail("tar: bad archive")


def _chosen(name: str, wanted: list[str]) -> bool:
    cleaned = [inside(path) for path in wanted]
    return not wanted or any(name == path or name.startswith(path + "/") for path in cleaned)


async def _unpack(
    call: Call,
    archive: tarfile.TarFile,
    folder: str,
    given: Flags,
) -> int:
    status = 0
    listing, loud = "t" in given, "v" in given
    at = Call(call.world, call.argv, call.stdin, call.stdout, call.stderr, call.uid, folder)
    for member in archive:
        await asyncio.sleep(0)
        name = inside(member.name)
        if not _chosen(name, given.rest) or _excluded(name, given):
            continue
        if listing or loud:
            mark = "/" if member.isdir() else f" -> {member.linkname}" if member.issym() else ""
            lead = _details(member) if listing and loud else ""
            await call.out(f"{lead}{member.name}{mark}\n")
        if listing or (not name and member.isdir()):
            continue
        if "O" in given:
            stream = archive.extractfile(member) if member.isfile() else None
            while stream is not None and (chunk := stream.read(1 << 20)):
                await call.stdout.write(chunk)
            continue
        if not name:
            status = await call.fail(f"tar: '{member.name}' not under '{folder}'")
            continue
        try:
            await _member(at, archive, member, name)
        except OSError as error:
            status = await call.fail(f"tar: {member.name}: {reason(error)}")
    return status


def _excluded(name: str, given: Flags) -> bool:
    return any(
        fnmatchcase(part, pattern)
        for pattern in given.values.get("X", [])
        for part in (name, name.rpartition("/")[2])
    )


def _details(member: tarfile.TarInfo) -> str:
    """What `tar tv` shows before a name."""
    kind = stat.S_IFDIR if member.isdir() else stat.S_IFLNK if member.issym() else stat.S_IFREG
    owner = f"{user(member.uid)}/{user(member.gid)}"
    when = stamp(member.mtime)
    return f"{stat.filemode(kind | member.mode)} {owner} {member.size:>9}  {when} "


async def _member(call: Call, archive: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> None:
    disk = call.world.disk
    parent = os.path.dirname(name)
    if parent:
        make_folder(call, parent, parents=True, mode=0o755)
    if member.isdir():
        make_folder(call, name, parents=True, mode=0o755)
        return
    host = disk.writable(name, call.uid, call.cwd, follow=False)
    if member.issym():
        host.unlink(missing_ok=True)
        host.symlink_to(member.linkname)
        return
    if not member.isfile():
        return  # devices, pipes and hard links are not for guests
    # What stands there, a link above all, makes way: a member is never written through it.
    if host.is_symlink() or host.is_file():
        host.unlink()
    stream = archive.extractfile(member)
    with disk.create(name, call.uid, call.cwd) as opened:
        while stream is not None and (chunk := stream.read(1 << 20)):
            opened.write(chunk)
    host.chmod(stat.S_IMODE(member.mode) & 0o777 | stat.S_IRUSR)
    os.utime(host, (member.mtime, member.mtime))


async def _pack(call: Call, path: str, folder: str, given: Flags, *, packed: bool) -> int:
    names = given.rest
    if not names:
        return await call.fail("tar: empty archive")
    status = 0
    held = io.BytesIO()
    at = Call(call.world, call.argv, call.stdin, call.stdout, call.stderr, call.uid, folder)

    async def add(archive: tarfile.TarFile, name: str, depth: int) -> None:
        await asyncio.sleep(0)
        seen = entry(at, name, follow=False)
        if _excluded(name, given):
            return
        if "v" in given:
            await (call.err if path == "-" else call.out)(name + "\n")
        info = tarfile.TarInfo(name.lstrip("/") or ".")
        info.mode, info.mtime = stat.S_IMODE(seen.mode), int(seen.mtime)
        info.uid, info.gid = seen.uid, seen.gid
        if seen.is_dir:
            info.type = tarfile.DIRTYPE
            archive.addfile(info)
            for child in at.world.disk.names(name, at.uid, at.cwd) if depth < MAX_DEPTH else []:
                await add(archive, f"{name.rstrip('/')}/{child}", depth + 1)
        elif seen.is_link:
            info.type, info.linkname = tarfile.SYMTYPE, seen.target
            archive.addfile(info)
        else:
            data = at.world.disk.read(name, at.uid, at.cwd)
            info.size = len(data)
            if held.tell() + len(data) > MAX_HELD:
                raise BadUsage("archive too large")
            archive.addfile(info, io.BytesIO(data))

    with tarfile.open(fileobj=held, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in names:
            try:
                await add(archive, name, 0)
            except OSError as error:
                status = await call.fail(f"tar: {name}: {reason(error)}")
    if status:
        await call.err("tar: had errors\n")
    held.seek(0)
    source = _Bytes(held)
    if path == "-":
        await _written(source, call.stdout, packed=packed)
    else:
        with writing(call, path) as sink:
            await _written(source, sink, packed=packed)
    return status


class _Bytes:
    def __init__(self, held: io.BytesIO) -> None:
        self._held = held

    async def read(self, limit: int = 65536) -> bytes:
        return self._held.read(limit)


async def _written(source: Source, sink: Sink, *, packed: bool) -> None:
    if packed:
        await _drain(deflated(source), sink)
    else:
        await copy(source, sink)


PROGRAMS = {"gzip": gzip, "gunzip": gzip, "zcat": gzip, "tar": tar}
