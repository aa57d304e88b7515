"""Reads and verifies the journal's hash chain; the format of its lines and segments.

    journal/000001.jsonl    one segment per coordinator that wrote, named by its claim

A line is canonical JSON with seq, ts_ms, event and its fields, `prev` (sha256 of the line before,
newline included; zeros for the first) and `self` (sha256 of the line without it): an edit breaks
the line, a removal breaks the chain. A segment's first line names and seals the segment before it;
bytes behind the sealed length, and segments that the chain passes over, were written by a
coordinator that had lost its claim, and never count. Only the last segment may end in a torn line,
which is cut; a segment without a whole line was never opened. Whole lines cut from the end of a run
that is not sealed look like lines that were never written; `run_sealed` prevents that.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json

from ..errors import EmufarmError
from ..events.canonical import canonical
from .transitions import EVENT, Event, RunSealed, SealedSegment, SegmentOpened

FOLDER = "journal"
FIRST = "0" * 64
_CHUNK = 1 << 20
_event = EVENT.validator.validate_python  # a third faster than the adapter's own method
_NOT_SEALED = "it does not seal the segment before it"
_NOT_OPENED = "a segment is opened by its first line"


class JournalBroken(EmufarmError):
    """The journal was changed after it was written: where, and which rule it breaks."""

    def __init__(self, file: Path, line: int, rule: str) -> None:
        self.file = file
        self.line = line
        self.rule = rule
        where = f"{file}, line {line}" if line else str(file)
        super().__init__(f"the journal is broken at {where}: {rule}")


class JournalLine(NamedTuple):
    seq: int
    ts_ms: int
    event: Event


@dataclass(frozen=True)
class JournalEnd:
    """The end of a verified journal, from which a writer continues."""

    count: int  # of lines
    last: SealedSegment | None  # how the next segment will seal the last one
    head: str  # the next line's `prev`
    sealed: bool  # by its last line: no more may follow
    torn: int  # bytes behind the last whole line


@dataclass(frozen=True)
class JournalContents(JournalEnd):
    """All lines of a verified journal."""

    lines: tuple[JournalLine, ...]


def segment_name(claim: int) -> str:
    return f"{claim:06d}.jsonl"


def segment_claims(folder: Path) -> list[int]:
    """The claims of the segments that a listing shows, in order."""
    return sorted(int(path.stem) for path in folder.glob("*.jsonl") if path.stem.isdecimal())


def encode(seq: int, ts_ms: int, prev: str, event: Event) -> bytes:
    body = {"seq": seq, "ts_ms": ts_ms, "prev": prev, **event.model_dump(mode="json")}
    body["self"] = _digest(canonical(body))
    return canonical(body) + b"\n"


def head_after(line: bytes) -> str:
    return _digest(line)


class JournalReader:
    """Iterates over the verified lines of the journal in a folder.

    JournalBroken where it breaks: the journal is whole only if the iteration reaches its `end`.
    A coordinator reads the segments `before` its own claim. It looks each of them up by its name,
    since a network volume's listing may be late.
    """

    def __init__(self, folder: Path, before: int | None = None) -> None:
        self._folder = folder
        self._before = before
        self._end: JournalEnd | None = None

    @property
    def end(self) -> JournalEnd:
        assert self._end is not None, "the end is known after the last line"
        return self._end

    def __iter__(self) -> Iterator[JournalLine]:
        claims = segment_claims(self._folder) if self._before is None else range(1, self._before)
        segments, torn = _segments(self._folder, claims)
        end = JournalEnd(0, None, FIRST, sealed=False, torn=torn)
        for path, sealed in segments:
            length = _sealed_length(path, sealed) if sealed else path.stat().st_size
            end = yield from _segment(path, length, end)
        self._end = end


def read(folder: Path) -> JournalContents:
    """The whole journal in `folder`; empty if there is none. Raises JournalBroken."""
    reader = JournalReader(folder)
    lines = tuple(reader)
    return JournalContents(**vars(reader.end), lines=lines)


def _segments(
    folder: Path, claims: Iterable[int]
) -> tuple[list[tuple[Path, SealedSegment | None]], int]:
    """The segments in order, each with its seal; the last has none. Behind them, the bytes of
    segments that were never opened.

    The last one leads to the one that it seals, and so on to the first.
    """
    firsts = {path: _first_line(path) for path in (folder / segment_name(n) for n in claims)}
    paths = [path for path, first in firsts.items() if first.endswith(b"\n")]
    torn = sum(len(first) for path, first in firsts.items() if not paths or path > paths[-1])
    found: list[tuple[Path, SealedSegment | None]] = []
    path, sealed = (paths[-1] if paths else None), None
    while path is not None:
        found.append((path, sealed))
        event = parse_line(path, 1, firsts[path])[1]
        if not isinstance(event, SegmentOpened):
            raise JournalBroken(path, 1, _NOT_OPENED)
        sealed = event.sealed
        before = folder / sealed.name if sealed else None
        if before is not None and (before not in paths or before >= path):
            raise JournalBroken(before, 0, "this segment is missing")
        path = before
    return found[::-1], torn


def _sealed_length(path: Path, sealed: SealedSegment) -> int:
    """How many bytes of the segment were sealed, after a check of their digest."""
    digest, left = sha256(), sealed.length
    with path.open("rb", buffering=0) as file:
        while left > 0 and (chunk := file.read(min(left, _CHUNK))):
            digest.update(chunk)
            left -= len(chunk)
    if left > 0:
        found = sealed.length - left
        raise JournalBroken(path, 0, f"{sealed.length} bytes were sealed, {found} are there")
    if digest.hexdigest() != sealed.sha256:
        raise JournalBroken(path, 0, "its bytes are not those that were sealed")
    return sealed.length


def _first_line(path: Path) -> bytes:
    """Empty where there is no such segment."""
    try:
        with path.open("rb") as file:
            return file.readline()
    except FileNotFoundError:
        return b""


def _segment(path: Path, length: int, end: JournalEnd) -> Generator[JournalLine, None, JournalEnd]:
    """The lines of the segment that follows this end; returns the end after them.

    A line is yielded once the next line's `prev` has confirmed its bytes. Its `self` is checked if
    no line follows, and if something is wrong, to find the line that was changed.
    """
    seq, head, over = end.count, end.head, end.sealed
    waiting, before = None, b""
    held, digest = 0, sha256()
    with path.open("rb", buffering=_CHUNK) as file:
        for number, raw in enumerate(file, start=1):
            if held + len(raw) > length or not raw.endswith(b"\n"):
                break  # written by a second writer, or torn
            seq += 1
            line = _quick(raw, head, seq)
            if line is None:
                if before:
                    parse_line(path, number - 1, before)
                line = _line(path, number, raw, head, seq)
            kind = type(line.event)
            if over or number == 1 or kind is SegmentOpened:
                parse_line(path, number, raw)
                _in_place(path, number, line.event, end.last, over)
            if waiting is not None:
                yield waiting
            waiting, before = line, raw
            over = kind is RunSealed
            head = sha256(raw).hexdigest()
            digest.update(raw)
            held += len(raw)
    if waiting is not None:
        parse_line(path, seq - end.count, before)
        yield waiting
    cut = length - held
    last = SealedSegment(
        name=path.name, length=held, sha256=digest.hexdigest(), last_seq=seq, cut=cut
    )
    return JournalEnd(seq, last, head, over, end.torn + cut)


def _in_place(
    path: Path, number: int, event: Event, last: SealedSegment | None, over: bool
) -> None:
    """Only a segment's first line opens it and seals the one before; no line follows run_sealed."""
    if isinstance(event, SegmentOpened) != (number == 1):
        raise JournalBroken(path, number, _NOT_OPENED)
    if over:
        raise JournalBroken(path, number, "a line follows the one that seals the run")
    if isinstance(event, SegmentOpened):
        if _counted(event.sealed) != last:
            raise JournalBroken(path, number, _NOT_SEALED)
        if segment_name(event.claim) != path.name:
            raise JournalBroken(path, number, f"it was written under the claim {event.claim}")


def _counted(sealed: SealedSegment | None) -> SealedSegment | None:
    """A seal without the torn bytes, which are recorded and do not count."""
    return sealed and sealed.model_copy(update={"cut": 0})


def _quick(raw: bytes, head: str, seq: int) -> JournalLine | None:
    """Parses a valid line in a fifth of the time; None if the line needs a closer check."""
    try:
        body = from_json(raw, cache_strings="keys")
        if body.pop("prev") != head or body.pop("seq") != seq:
            return None
        ts_ms = body.pop("ts_ms")
        del body["self"]
        return JournalLine(seq, ts_ms, _event(body))
    except (ValueError, KeyError, AttributeError, TypeError):
        return None


def _line(path: Path, number: int, raw: bytes, head: str, seq: int) -> JournalLine:
    body, event = parse_line(path, number, raw)
    if body["prev"] != head:
        raise JournalBroken(path, number, "it does not follow the line before it")
    if body["seq"] != seq:
        raise JournalBroken(path, number, f"its number is {body['seq']}, not {seq}")
    return JournalLine(seq, body["ts_ms"], event)


def parse_line(path: Path, number: int, raw: bytes) -> tuple[dict[str, Any], Event]:
    """Parses a line and checks its own digest."""
    try:
        body = json.loads(raw)  # accepts half a surrogate pair, which a phone's text may hold
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
    return sha256(data).hexdigest()
