"""base64, xxd and the programs that print digests."""

from __future__ import annotations

import base64
import hashlib
import re

from ..streams import Source
from .call import Call
from .files import complain
from .flags import flags
from .opening import chunks, reading
from .text import over, read_input


async def digest(call: Call) -> int:
    """md5sum, sha1sum, sha256sum, ...: the name says which."""
    given = flags(call.args, "bcs", {"check": "c", "status": "s"})
    kind = call.name.rpartition("/")[2].removesuffix("sum")
    if "c" in given:
        return await _check(call, kind, given.rest)

    async def work(path: str, source: Source) -> None:
        found = await _digest(kind, source)
        await call.out(f"{found}\n" if "b" in given else f"{found}  {path}\n")

    return await over(call, given.rest, work)


async def _digest(kind: str, source: Source) -> str:
    running = hashlib.new(kind, usedforsecurity=False)
    async for chunk in chunks(source):
        running.update(chunk)
    return running.hexdigest()


async def _check(call: Call, kind: str, paths: list[str]) -> int:
    status = 0
    for path in paths or ["-"]:
        text = (await read_input(call, path)).decode("utf-8", "surrogateescape")
        for line in text.splitlines():
            wanted, _, name = line.partition("  ")
            try:
                with reading(call, name) as source:
                    same = await _digest(kind, source) == wanted
            except OSError as error:
                status = await complain(call, name, error)
                continue
            await call.out(f"{name}: {'OK' if same else 'FAILED'}\n")
            status |= not same
    return status


async def base64_(call: Call) -> int:
    given = flags(call.args, "diw:", {"decode": "d", "wrap": "w"})
    data = await read_input(call, given.rest[0] if given.rest else "-")
    if "d" in given:
        kept = re.sub(rb"[^A-Za-z0-9+/=]" if "i" in given else rb"\s", b"", data)
        whole = re.match(rb"[A-Za-z0-9+/]*", kept)  # what follows another letter is dropped
        digits = whole[0] if whole else b""
        digits = digits[:-1] if len(digits) % 4 == 1 else digits
        await call.stdout.write(base64.b64decode(digits + b"=" * (-len(digits) % 4)))
        return 0
    text = base64.b64encode(data)
    width = given.number("w", 76)
    if width and text:
        text = b"".join(text[i : i + width] + b"\n" for i in range(0, len(text), width))
    await call.stdout.write(text)
    return 0


def printable(data: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)


async def xxd(call: Call) -> int:
    given = flags(call.args, "pric:g:l:s:o:")
    data = await read_input(call, given.rest[0] if given.rest else "-")
    if "r" in given:
        return await _from_hex(call, data, plain="p" in given)
    data = data[given.number("s", 0) :]
    data = data[: given.number("l", len(data))]
    width = max(1, given.number("c", 30 if "p" in given else 16))
    group = max(1, given.number("g", 2))
    if "i" in given:
        rows = [data[at : at + 12] for at in range(0, len(data), 12)]
        await call.out(
            ",\n".join("  " + ", ".join(f"0x{b:02x}" for b in row) for row in rows) + "\n"
        )
        return 0
    lines: list[str] = []
    for at in range(0, len(data), width):
        row = data[at : at + width]
        if "p" in given:
            lines.append(row.hex())
            continue
        cells = " ".join(row[i : i + group].hex() for i in range(0, len(row), group))
        full = width * 2 + (width - 1) // group
        lines.append(f"{at + given.number('s', 0):08x}: {cells.ljust(full)}  {printable(row)}")
    await call.out("".join(line + "\n" for line in lines))
    return 0


async def _from_hex(call: Call, data: bytes, *, plain: bool) -> int:
    if not plain:
        rows = [row.partition(b": ")[2].partition(b"  ")[0] for row in data.splitlines()]
        data = b"".join(rows)
    digits = re.sub(rb"[^0-9a-fA-F]", b"", data)
    await call.stdout.write(bytes.fromhex(digits[: len(digits) // 2 * 2].decode()))
    return 0


PROGRAMS = {
    "md5sum": digest,
    "sha1sum": digest,
    "sha256sum": digest,
    "sha512sum": digest,
    "base64": base64_,
    "xxd": xxd,
}
