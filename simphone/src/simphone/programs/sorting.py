"""sort and uniq."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ..streams import Source
from .call import Call
from .flags import BadUsage, Flags, flags
from .opening import lines, reading, reason
from .text import held_lines

MONTHS = b"jan feb mar apr may jun jul aug sep oct nov dec".split()


def _leading_number(line: bytes) -> float:
    found = re.match(rb"\s*[-+]?(\d+\.?\d*|\.\d+)", line)
    return float(found.group()) if found else 0.0


def sort_key(given: Flags) -> Callable[[bytes], Any]:
    """What lines are compared by: -k fields, -n -f -V -h bend them."""
    separator = given.value("t").encode("utf-8", "surrogateescape")
    keys = [
        re.fullmatch(r"(\d+)(?:\.\d+)?([a-zA-Z]*)(?:,(\d+)(?:\.\d+)?([a-zA-Z]*))?", k)
        for k in given.values.get("k", [])
    ]
    if any(key is None for key in keys):
        raise BadUsage(f"bad -k '{given.value('k')}'")

    def bent(text: bytes, letters: str) -> Any:
        if "n" in letters or "g" in letters:
            return _leading_number(text)
        if "x" in letters:
            found = re.match(rb"\s*(?:0[xX])?([0-9a-fA-F]+)", text)
            return int(found.group(1)[:16], 16) if found else 0
        if "M" in letters:
            name = text.strip()[:3].lower()
            return MONTHS.index(name) if name in MONTHS else -1
        if "d" in letters:
            text = re.sub(rb"[^A-Za-z0-9\s]", b"", text)
        if "V" in letters:
            return [int(p) if p.isdigit() else p for p in re.split(rb"(\d+)", text)]
        if "b" in letters:
            text = text.lstrip()
        return text.lower() if "f" in letters else text

    everywhere = "".join(letter for letter in "ngxMdVbf" if letter in given)

    def key(line: bytes) -> Any:
        if not keys:
            return bent(line, everywhere)
        fields = line.split(separator) if separator else re.findall(rb"\s*\S+", line)
        parts = []
        for found in keys:
            assert found is not None
            first, own, last, more = found.groups()
            end = int(last) if last else len(fields)
            piece = (separator or b"").join(fields[int(first) - 1 : end])
            parts.append(bent(piece, own + (more or "") or everywhere))
        return parts

    return key


async def sort(call: Call) -> int:
    given = flags(call.args, "nruk:t:fVbo:sgzcCdixM", {"reverse": "r", "unique": "u"})
    end = b"\0" if "z" in given else b"\n"
    found, status = await held_lines(call, given.rest, end)
    key = sort_key(given)
    if given.names & {"c", "C"}:
        for number, (one, other) in enumerate(pairwise(found), start=2):
            if key(one) > key(other) if "r" not in given else key(one) < key(other):
                path = given.rest[0] if given.rest else "-"
                return 1 if "C" in given else await call.fail(f"sort: {path}: Check line {number}")
        return status
    if "s" not in given and "u" not in given:
        found.sort()  # the last resort: lines that are equal by key go by their bytes
    ordered = sorted(found, key=key)
    if "u" in given:
        unique: list[bytes] = []
        for line in ordered:
            if not unique or key(unique[-1]) != key(line):
                unique.append(line)
        ordered = unique
    if "r" in given:
        ordered.reverse()
    data = b"".join(line + end for line in ordered)
    if "o" in given:
        with call.world.disk.create(given.value("o"), call.uid, call.cwd) as opened:
            opened.write(data)
    else:
        await call.stdout.write(data)
    return 2 if status else 0


async def uniq(call: Call) -> int:
    given = flags(call.args, "cdiuf:s:w:")
    previous: bytes | None = None
    count = 0

    def key(line: bytes) -> bytes:
        parts = re.findall(rb"\s*\S+|\s+", line)
        kept = b"".join(parts[given.number("f", 0) :]) if "f" in given else line
        kept = kept[given.number("s", 0) :][: given.number("w", len(kept))]
        return kept.lower() if "i" in given else kept

    async def emit() -> None:
        if previous is None or ("d" in given and count < 2) or ("u" in given and count > 1):
            return
        lead = b"%7d " % count if "c" in given else b""
        await call.stdout.write(lead + previous + b"\n")

    async def work(_: str, source: Source) -> None:
        nonlocal previous, count
        async for raw in lines(source):
            line = raw.removesuffix(b"\n")
            if previous is not None and key(previous) == key(line):
                count += 1
                continue
            await emit()
            previous, count = line, 1
        await emit()

    try:
        with reading(call, given.rest[0] if given.rest else "-") as source:
            await work("", source)
    except FileNotFoundError as error:
        return await call.fail(f"uniq: No file {given.rest[0]}: {reason(error)}")
    return 0


PROGRAMS = {"sort": sort, "uniq": uniq}
