"""Programs that take lines and give lines: head, tail, wc, cut and their like."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Awaitable, Callable

from ..streams import Source, read_all
from .call import Call
from .files import complain
from .flags import BadUsage, BadValue, Flags, flags, size
from .opening import chunks, lines, reading

# What a program that must see everything before it answers may hold.
MAX_HELD = 256 << 20


def counted(args: list[str], form: str = r"-\d+") -> list[str]:
    """`head -5` as `head -n 5`; what already follows -n or -c stays."""
    found: list[str] = []
    for arg in args:
        if re.fullmatch(form, arg) and found[-1:] not in (["-n"], ["-c"]):
            found += ["-n", arg.removeprefix("-")]
        else:
            found.append(arg)
    return found


async def over(call: Call, paths: list[str], work: Callable[[str, Source], Awaitable[None]]) -> int:
    """`work(path, source)` for every file that opens; 1 where one did not."""
    status = 0
    for path in paths or ["-"]:
        try:
            with reading(call, path) as source:
                await work(path, source)
        except OSError as error:
            status = await complain(call, path, error)
    return status


async def held_lines(call: Call, paths: list[str], end: bytes = b"\n") -> tuple[list[bytes], int]:
    """All lines of all files, without their ends."""
    found: list[bytes] = []
    total = 0

    async def work(_: str, source: Source) -> None:
        nonlocal total
        async for line in lines(source, end):
            total += len(line)
            if total > MAX_HELD:
                raise BadUsage("input too large")
            found.append(line.removesuffix(end))

    status = await over(call, paths, work)
    return found, status


class Headings:
    """`==> name <==` over each of several files, as head and tail print it."""

    def __init__(self, call: Call, given: Flags) -> None:
        self._call = call
        self._wanted = "v" in given or (len(given.rest) > 1 and "q" not in given)
        self._lead = ""

    async def show(self, path: str) -> None:
        if self._wanted:
            await self._call.out(f"{self._lead}==> {path} <==\n")
        self._lead = "\n"


async def head(call: Call) -> int:
    given = flags(counted(call.args), "n:c:qv")
    for letter in "nc":
        if given.number(letter, 0) < 0:
            raise BadUsage(f"-{letter} < 0")
    headings = Headings(call, given)

    async def work(path: str, source: Source) -> None:
        await headings.show(path)
        if "c" in given:
            left = given.number("c", 0)
            while left > 0 and (chunk := await source.read(min(left, 65536))):
                await call.stdout.write(chunk)
                left -= len(chunk)
            return
        wanted = given.number("n", 10)
        if wanted == 0:
            return
        async for line in lines(source):
            await call.stdout.write(line)
            wanted -= 1
            if not wanted:
                break

    return await over(call, given.rest, work)


async def tail(call: Call) -> int:
    given = flags(counted(call.args, r"-\d+|\+\d+"), "n:c:fFs:", lenient=True)
    if not given.values.keys() & {"n", "c"} and re.match("-.", "".join(given.rest[:1])):
        size(given.rest[0])  # toybox takes an unknown option for `-NUMBER`
    headings = Headings(call, given)

    async def work(path: str, source: Source) -> None:
        await headings.show(path)
        text = given.value("c") if "c" in given else given.value("n", "10")
        number = abs(size(text))
        if text.startswith("+"):
            if "c" in given:
                await _skip_bytes(call, source, number - 1)
            else:
                await _skip_lines(call, source, number - 1)
        elif "c" in given:
            kept = bytearray()
            async for chunk in chunks(source):
                kept += chunk
                if len(kept) > 2 * number + 65536:
                    del kept[: len(kept) - number]
            await call.stdout.write(bytes(kept[-number:] if number else b""))
        else:
            last: deque[bytes] = deque(maxlen=number)
            async for line in lines(source):
                last.append(line)
            await call.stdout.write(b"".join(last))

    return await over(call, given.rest, work)


async def _skip_bytes(call: Call, source: Source, skip: int) -> None:
    async for chunk in chunks(source):
        await call.stdout.write(chunk[max(0, skip) :])
        skip -= len(chunk)


async def _skip_lines(call: Call, source: Source, skip: int) -> None:
    async for line in lines(source):
        if skip > 0:
            skip -= 1
        else:
            await call.stdout.write(line)


async def wc(call: Call) -> int:
    given = flags(call.args, "lwcm")
    letters = [letter for letter in "lwmc" if letter in given] or ["l", "w", "c"]
    totals = dict.fromkeys("lwcm", 0)

    async def show(counts: dict[str, int], path: str) -> None:
        name = "" if path == "-" else f" {path}"
        padded = len(given.rest) > 1 or (not given.rest and len(letters) > 1)
        width = 7 if padded else 0
        await call.out(" ".join(str(counts[k]).rjust(width) for k in letters) + name + "\n")

    async def work(path: str, source: Source) -> None:
        counts = dict.fromkeys("lwcm", 0)
        blank = True  # what came before this chunk ended in a space
        async for chunk in chunks(source):
            counts["l"] += chunk.count(b"\n")
            counts["c"] += len(chunk)
            counts["m"] += sum((byte & 0xC0) != 0x80 for byte in chunk) if "m" in given else 0
            if "w" in letters:
                words = len(chunk.split())
                counts["w"] += words - (not blank and not chunk[:1].isspace() and words > 0)
                blank = chunk[-1:].isspace()
        for key, value in counts.items():
            totals[key] += value
        await show(counts, path)

    status = await over(call, given.rest, work)
    if len(given.rest) > 1:
        await show(totals, "total")
    return status


def ranges(text: str) -> list[tuple[int, int]]:
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{0,9})(-?)(\d{0,9})", part)
        if match is None or not part or part == "-":
            raise BadValue(f"bad range '{text[:80]}'")
        low, dash, high = match.groups()
        first = int(low or 1)
        found.append((first, int(high) if high else (1 << 40 if dash else first)))
        if first < 1:
            raise BadValue(f"bad range '{text[:80]}'")
    return found


def chosen(count: int, wanted: list[tuple[int, int]]) -> list[int]:
    picked = {i for low, high in wanted for i in range(low, min(high, count) + 1)}
    return sorted(picked)


async def cut(call: Call) -> int:
    given = flags(call.args, "b:c:C:f:F:d:sDnO:", {"output-delimiter": "O"})
    kind = next((letter for letter in "bcCfF" if letter in given), "")
    if not kind:
        raise BadUsage("Needs -CFfcb")
    wanted = ranges(given.value(kind))
    delimiter = given.value("d", "\t")
    joint = given.value("O", {"f": delimiter, "F": " "}.get(kind, ""))

    async def work(_: str, source: Source) -> None:
        async for raw in lines(source):
            line = raw.removesuffix(b"\n")
            if kind == "b":
                picked = bytes(line[i - 1] for i in chosen(len(line), wanted))
                await call.stdout.write(picked + b"\n")
                continue
            text = line.decode("utf-8", "surrogateescape")
            if kind == "f" and delimiter not in text:
                if "s" not in given:
                    await call.out(text + "\n")
                continue
            parts = text.split(delimiter) if kind == "f" else list(text)
            if kind == "F":  # by a run of blanks, whatever it is
                parts = text.split(given.value("d")) if "d" in given else text.split()
            picked_parts = [parts[i - 1] for i in chosen(len(parts), wanted)]
            await call.out(joint.join(picked_parts) + "\n")

    return await over(call, given.rest, work)


async def read_input(call: Call, path: str) -> bytes:
    with reading(call, path) as source:
        return await read_all(source, MAX_HELD)


PROGRAMS = {
    "head": head,
    "tail": tail,
    "wc": wc,
    "cut": cut,
}
