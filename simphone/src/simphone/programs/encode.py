"""Programs that show bytes as text, and digests of them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable

from ..streams import Source
from .call import Call
from .files import complain
from .flags import BadUsage, flags
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


async def cksum(call: Call) -> int:
    async def work(path: str, source: Source) -> None:
        crc = total = 0
        async for chunk in chunks(source):
            total += len(chunk)
            crc = binascii.crc32(chunk, crc)
        await call.out(f"{crc:08x}\n" if call.name.endswith("crc32") else f"{crc} {total} {path}\n")

    return await over(call, call.args, work)


async def base64_(call: Call) -> int:
    given = flags(call.args, "diw:", {"decode": "d", "wrap": "w"})
    data = await read_input(call, given.rest[0] if given.rest else "-")
    if "d" in given:
        kept = re.sub(rb"[^A-Za-z0-9+/=]" if "i" in given else rb"\s", b"", data)
        try:
            decoded = base64.b64decode(kept + b"=" * (-len(kept) % 4), validate=True)
        except binascii.Error:
            return await call.fail("base64: bad input")
        await call.stdout.write(decoded)
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
        await call.out(", ".join(f"0x{byte:02x}" for byte in data) + "\n")
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


FORMS: dict[str, tuple[int, Callable[[int], str]]] = {
    "x1": (1, lambda n: f"{n:02x}"),
    "x2": (2, lambda n: f"{n:04x}"),
    "x4": (4, lambda n: f"{n:08x}"),
    "o1": (1, lambda n: f"{n:03o}"),
    "o2": (2, lambda n: f"{n:06o}"),
    "u1": (1, lambda n: f"{n:3d}"),
    "d1": (1, lambda n: f"{n - 256 if n > 127 else n:4d}"),
}
NAMED = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


def _character(code: int) -> str:
    return NAMED.get(code, chr(code) if 32 <= code < 127 else f"{code:03o}").rjust(3)


FORMS["c"] = (1, _character)


async def od(call: Call) -> int:
    given = flags(call.args, "A:t:N:j:w:vbcdox")
    data = await read_input(call, given.rest[0] if given.rest else "-")
    data = data[given.number("j", 0) :][: given.number("N", 1 << 40)]
    short = {"b": "o1", "c": "c", "x": "x2", "o": "o2", "d": "u1"}
    name = given.value("t") or next((short[k] for k in short if k in given.names), "o2")
    name = {"x": "x4", "o": "o2", "d": "d1", "u": "u1", "a": "c"}.get(name, name)
    if name not in FORMS:
        raise BadUsage(f"bad -t '{name[:20]}'")
    width, form = FORMS[name]
    base = given.value("A", "o")
    spelled = {"o": "07o", "x": "06x", "d": "07d"}
    if base not in (*spelled, "n"):
        raise BadUsage(f"bad -A '{base[:20]}'")
    lines: list[str] = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        cells = [
            form(int.from_bytes(row[i : i + width], "little")) for i in range(0, len(row), width)
        ]
        label = "" if base == "n" else format(at, spelled[base])
        lines.append(label + "".join(" " + cell for cell in cells) + "\n")
    if base != "n":
        lines.append(format(len(data), spelled[base]) + "\n")
    await call.out("".join(lines))
    return 0


async def hexdump(call: Call) -> int:
    given = flags(call.args, "Cn:s:vb")
    data = await read_input(call, given.rest[0] if given.rest else "-")
    start = given.number("s", 0)
    data = data[start:][: given.number("n", 1 << 40)]
    lines: list[str] = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        if "C" in given:
            cells = [f"{byte:02x}" for byte in row]
            left, right = " ".join(cells[:8]), " ".join(cells[8:])
            lines.append(f"{start + at:08x}  {left:23}  {right:23}  |{printable(row)}|\n")
        else:
            words = [int.from_bytes(row[i : i + 2], "little") for i in range(0, len(row), 2)]
            lines.append(f"{start + at:07x} " + " ".join(f"{word:04x}" for word in words) + "\n")
    if data:
        lines.append(f"{start + len(data):08x}\n" if "C" in given else f"{start + len(data):07x}\n")
    await call.out("".join(lines))
    return 0


async def strings(call: Call) -> int:
    given = flags(call.args, "an:fot:")
    least = max(1, given.number("n", 4))

    async def work(_: str, source: Source) -> None:
        run = bytearray()
        async for chunk in chunks(source):
            for piece in re.split(rb"([^\x20-\x7e\t]+)", chunk):
                if piece and (32 <= piece[0] < 127 or piece[0] == 9):
                    run += piece
                elif piece:
                    if len(run) >= least:
                        await call.stdout.write(bytes(run) + b"\n")
                    run.clear()
        if len(run) >= least:
            await call.stdout.write(bytes(run) + b"\n")

    return await over(call, given.rest, work)


PROGRAMS = {
    "md5sum": digest,
    "sha1sum": digest,
    "sha224sum": digest,
    "sha256sum": digest,
    "sha384sum": digest,
    "sha512sum": digest,
    "cksum": cksum,
    "crc32": cksum,
    "base64": base64_,
    "xxd": xxd,
    "od": od,
    "hexdump": hexdump,
    "hd": hexdump,
    "strings": strings,
}
