"""tr, cmp, diff and seq."""

from __future__ import annotations

import asyncio
import difflib
import re

from ..shell.pattern import CLASSES
from .call import Call
from .files import needs
from .flags import BadUsage, flags
from .opening import chunks, reason
from .printing import Stopped, unescaped
from .text import read_input

MAX_DIFF_LINES = 20_000


def letters(text: str) -> bytes:
    """tr's sets: escapes, ranges, classes."""
    try:
        plain = unescaped(text)
    except Stopped as stopped:
        plain = str(stopped)
    found = bytearray()
    i = 0
    while i < len(plain):
        named = re.compile(r"\[:(\w+):\]").match(plain, i)
        if named is not None and named.group(1) in CLASSES:
            inside = re.compile(f"[{CLASSES[named.group(1)]}]")
            found += bytes(code for code in range(128) if inside.match(chr(code)))
            i = named.end()
        elif plain[i + 1 : i + 2] == "-" and i + 2 < len(plain):
            low, high = ord(plain[i]), ord(plain[i + 2])
            if low > high:
                raise BadUsage(f"bad range '{plain[i : i + 3]}'")
            found += bytes(range(low & 0xFF, min(high, 0xFF) + 1))
            i += 3
        else:
            found += plain[i].encode("utf-8", "surrogateescape")
            i += 1
    return bytes(found)


async def tr(call: Call) -> int:
    given = flags(call.args, "cCdst", first_only=True)
    needs(given.rest)
    first = letters(given.rest[0])
    second = letters(given.rest[1]) if len(given.rest) > 1 else b""
    if given.names & {"c", "C"}:
        first = bytes(code for code in range(256) if code not in first)
    delete = first if "d" in given else b""
    table = None
    if "d" not in given and second:
        filled = (second + second[-1:] * len(first))[: len(first)]
        # Later pairs win, as they do in tr.
        table = bytearray(range(256))
        for old, new in zip(first, filled, strict=True):
            table[old] = new
    squeezed = second or first
    runs = re.compile(b"([" + b"".join(re.escape(bytes([c])) for c in squeezed) + b"])\\1+")
    last = b""
    async for chunk in chunks(call.stdin):
        data = chunk.translate(table, delete)
        if "s" in given and data and squeezed:
            if last and data[:1] == last and last in squeezed:
                data = data.lstrip(last)
            data = runs.sub(rb"\1", data)
            last = data[-1:] or last
        await call.stdout.write(data)
    return 0


async def cmp(call: Call) -> int:
    given = flags(call.args, "lsn:")
    needs(given.rest)
    names = [*given.rest, "-"][:2]
    most = given.number("n", 1 << 40)
    try:
        first, second = [(await read_input(call, name))[:most] for name in names]
    except OSError as error:
        return await call.fail(f"cmp: {error.filename or names[0]}: {reason(error)}", 2)
    shorter = min(len(first), len(second))
    differing = (at for at in range(shorter) if first[at] != second[at])
    status = 0
    for at in differing:
        status = 1
        if "s" in given:
            return 1
        if "l" not in given:
            line = first.count(b"\n", 0, at) + 1
            await call.out(f"{names[0]} {names[1]} differ: char {at + 1}, line {line}\n")
            return 1
        await call.out(f"{at + 1} {first[at]:o} {second[at]:o}\n")
    if len(first) != len(second):
        status = 2
        short, data = (names[0], first) if len(first) < len(second) else (names[1], second)
        if "s" not in given:
            line = data.count(b"\n")
            await call.err(f"cmp: EOF on {short} after byte {len(data)}, line {line}\n")
    return status


async def diff(call: Call) -> int:
    given = flags(call.args, "uqrNbBwaU:L:", {"brief": "q", "unified": "u"})
    needs(given.rest, 2)
    names = given.rest[:2]
    first, second = await read_input(call, names[0]), await read_input(call, names[1])
    if first == second:
        return 0
    if "q" in given:
        await call.out(f"Files {names[0]} and {names[1]} differ\n")
        return 1
    left = first.decode("utf-8", "surrogateescape").split("\n")
    right = second.decode("utf-8", "surrogateescape").split("\n")
    left, right = (side[:-1] if side[-1] == "" else side for side in (left, right))
    if len(left) + len(right) > MAX_DIFF_LINES:
        await call.out(f"Files {names[0]} and {names[1]} differ\n")
        return 1
    context = given.number("U", 3)
    shown = difflib.unified_diff(left, right, names[0], names[1], n=context, lineterm="")
    # Seconds, for the worst of texts: others get their turn meanwhile.
    lines = await asyncio.to_thread(list, shown)
    await call.out("".join(f"{line}\n" for line in lines))
    return 1


async def seq(call: Call) -> int:
    args = list(call.args)
    joint, form, wide = "\n", "", False
    while args and re.fullmatch(r"-[sfw].*", args[0]):
        option = args.pop(0)
        if option == "-w":
            wide = True
            continue
        value = option[2:] or (args.pop(0) if args else "")
        joint, form = (value, form) if option[1] == "s" else (joint, value)
    needs(args)
    if len(args) > 3:
        raise BadUsage("Max 3 arguments")
    try:
        numbers = [float(arg) for arg in args[:3]]
    except ValueError:
        raise BadUsage("not a number") from None
    first = numbers[0] if len(numbers) > 1 else 1.0
    step = numbers[1] if len(numbers) > 2 else 1.0
    last = numbers[-1]
    places = max(len(arg.partition(".")[2]) for arg in args[:3])
    if form and not re.fullmatch(r"[^%]*%[-+ 0#]*\d{0,3}(\.\d{0,3})?[efgEFG][^%]*", form):
        return await call.fail(f"seq: bad -f '{form}'")
    width = max(len(f"{n:.{places}f}") for n in (first, last)) if wide else 0
    index = 0
    number = first
    pieces: list[str] = []
    while step and (number <= last if step > 0 else number >= last):
        text = form % number if form else f"{number:.{places}f}".zfill(width)
        pieces.append((joint if index else "") + text)
        number += step
        index += 1
        if index % 1000 == 0:
            await call.out("".join(pieces))
            pieces = []
            await asyncio.sleep(0)
    await call.out("".join(pieces) + ("\n" if index else ""))
    return 0


PROGRAMS = {"tr": tr, "cmp": cmp, "diff": diff, "seq": seq}
