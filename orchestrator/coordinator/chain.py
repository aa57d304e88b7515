"""What does a run's journal say, and is it the one that was written?

    journal/000001.jsonl    one segment per coordinator start

A line is canonical JSON with seq, ts_ms, event and its fields, `prev` (sha256 of the line before,
newline included; zeros for the first) and `self` (sha256 of the line without it): an edit breaks
the line, a removal breaks the chain. A segment's first line seals the segment before it; bytes
behind the sealed length are a second writer's and never count. Only the last segment may end in a
torn line, which is cut; one with no whole line was never opened. Whole lines cut from the end of a
run that is not sealed cannot be told from lines never written; `run_sealed` closes that door.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import EmufarmError
from ..events.canonical import canonical
from .transitions import EVENT, Event, RunSealed, Sealed, SegmentOpened

FOLDER = "journal"
FIRST = "0" * 64


class JournalBroken(EmufarmError):
    """The journal is not the one that was written: where, and by which rule."""

    def __init__(self, file: Path, line: int, rule: str) -> None:
        self.file = file
        self.line = line
        self.rule = rule
        where = f"{file}, line {line}" if line else str(file)
        super().__init__(f"the journal is broken at {where}: {rule}")


@dataclass(frozen=True)
class Line:
    seq: int
    ts_ms: int
    event: Event


@dataclass(frozen=True)
class Read:
    """A verified journal, and what a writer needs to go on from it."""

    lines: tuple[Line, ...]
    segments: int
    last: Sealed | None  # how the next segment will seal the last one
    head: str  # the next line's `prev`

    @property
    def sealed(self) -> bool:
        return bool(self.lines) and isinstance(self.lines[-1].event, RunSealed)


def segment_name(number: int) -> str:
    return f"{number:06d}.jsonl"


def encode(seq: int, ts_ms: int, prev: str, event: Event) -> bytes:
    body = {"seq": seq, "ts_ms": ts_ms, "prev": prev, **event.model_dump(mode="json")}
    body["self"] = _digest(canonical(body))
    return canonical(body) + b"\n"


def head_after(line: bytes) -> str:
    return _digest(line)


def read(folder: Path) -> Read:
    """The whole journal below `folder`, or JournalBroken; empty where there is none."""
    segments = _segments(folder)
    lines: list[Line] = []
    head = FIRST
    last: Sealed | None = None
    for index, (path, found) in enumerate(segments):
        sealed_by = segments[index + 1 : index + 2]
        data = _as_sealed(path, found, *sealed_by[0]) if sealed_by else found
        whole = data[: data.rfind(b"\n") + 1]
        for number, raw in enumerate(_split(whole), start=1):
            line = _line(path, number, raw, head, len(lines) + 1)
            if isinstance(line.event, SegmentOpened) != (number == 1):
                raise JournalBroken(path, number, "a segment is opened by its first line")
            if lines and isinstance(lines[-1].event, RunSealed):
                raise JournalBroken(path, number, "a line follows the one that seals the run")
            if isinstance(line.event, SegmentOpened) and _counted(line.event.sealed) != last:
                raise JournalBroken(path, number, "it does not seal the segment before it")
            lines.append(line)
            head = head_after(raw)
        last = Sealed(
            name=path.name,
            length=len(whole),
            sha256=_digest(whole),
            last_seq=len(lines),
            cut=len(data) - len(whole),
        )
    return Read(tuple(lines), len(segments), last, head)


def _segments(folder: Path) -> list[tuple[Path, bytes]]:
    """The segments in order, without a last one that holds no whole line."""
    paths = sorted(folder.glob("*.jsonl"))
    for number, path in enumerate(paths, start=1):
        if path.name != segment_name(number):
            raise JournalBroken(folder / segment_name(number), 0, "this segment is missing")
    found = [(path, path.read_bytes()) for path in paths]
    if found and b"\n" not in found[-1][1]:
        found.pop()
    return found


def _as_sealed(path: Path, data: bytes, next_path: Path, next_data: bytes) -> bytes:
    """The bytes that the next segment's first line seals."""
    first = next_data[: next_data.find(b"\n") + 1]
    event = _parse(next_path, 1, first)[1]
    if not isinstance(event, SegmentOpened) or event.sealed is None:
        raise JournalBroken(next_path, 1, "it does not seal the segment before it")
    sealed = event.sealed
    if len(data) < sealed.length:
        raise JournalBroken(path, 0, f"{sealed.length} bytes were sealed, {len(data)} are there")
    if _digest(data[: sealed.length]) != sealed.sha256:
        raise JournalBroken(path, 0, "its bytes are not those that were sealed")
    return data[: sealed.length]


def _counted(sealed: Sealed | None) -> Sealed | None:
    """A seal without the torn bytes, which are named and count for nothing."""
    return sealed and sealed.model_copy(update={"cut": 0})


def _split(whole: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(whole):
        end = whole.index(b"\n", start) + 1
        yield whole[start:end]
        start = end


def _line(path: Path, number: int, raw: bytes, head: str, seq: int) -> Line:
    body, event = _parse(path, number, raw)
    if body["prev"] != head:
        raise JournalBroken(path, number, "it does not follow the line before it")
    if body["seq"] != seq:
        raise JournalBroken(path, number, f"its number is {body['seq']}, not {seq}")
    return Line(seq, body["ts_ms"], event)


def _parse(path: Path, number: int, raw: bytes) -> tuple[dict[str, Any], Event]:
    """A line that is whole in itself."""
    try:
        body = json.loads(raw)
        own = body.pop("self")
        chained = {name: body[name] for name in ("seq", "ts_ms", "prev")}
        if own != _digest(canonical(body)) or canonical({**body, "self": own}) + b"\n" != raw:
            raise JournalBroken(path, number, "it was edited")
        fields = {name: value for name, value in body.items() if name not in chained}
        return chained, EVENT.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise JournalBroken(path, number, f"no event this version knows: {first['msg']}") from error
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise JournalBroken(path, number, "it is not a line of a journal") from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
