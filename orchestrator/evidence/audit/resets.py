"""Did the attempt start from the snapshot, and does the evidence show it?"""

from __future__ import annotations

from typing import Any

from .reading import Fields
from .seen import Seen
from .shapes import is_count

TRACE = "device_trace"


def device(seen: Seen, line: int, fields: Fields) -> None:
    if fields["event"] == "reset":
        _reset(seen, line, fields)
    elif fields["event"] == "pins":
        seen.pinned = not fields["wrong"] and _compared(fields["pins"])
    elif fields["event"] == "device":
        if not seen.told(TRACE) and seen.whole(TRACE):
            _begun(seen, line)
        seen.count(TRACE, line, fields["step"])


def _compared(pins: Fields) -> bool:
    """At least one pin, and both values of each."""
    both = {"baked", "found"}
    return bool(pins) and all(isinstance(pin, dict) and both <= pin.keys() for pin in pins.values())


def _begun(seen: Seen, line: int) -> None:
    """The first step is observed: now the phone must be the one that the run names."""
    if not seen.proven:
        text = "a step was observed, and the last reset before it is not proven"
        seen.add(TRACE, line, "reset", text)
    elif not seen.pinned:
        text = "a step was observed, and the device was not held against its pins, or differs"
        seen.add(TRACE, line, "pins", text)


def _reset(seen: Seen, line: int, fields: Fields) -> None:
    if seen.told(TRACE):
        seen.add(TRACE, line, "reset", "the phone was reset after its first step")
        return
    seen.proven = fields["proven"]
    if not seen.proven:
        if not fields["wrong"]:
            seen.add(TRACE, line, "reset_proof", "it is not proven, and nothing says why")
        return
    lacking = _lacking(fields)
    if lacking is not None:
        seen.add(TRACE, line, "reset_proof", lacking)
    elif seen.run.image is not None:
        odd = [part for part, value in seen.run.image.items() if fields[part] != value]
        if odd:
            text = f"its {', '.join(odd)} is not that of the run's image lock"
            seen.add(TRACE, line, "reset_image", text)


def _lacking(fields: Fields) -> str | None:
    """The first part of the proof that is not there, or proves nothing."""
    tag = fields["snapshot_tag"]
    if fields["wrong"]:
        return "it is called proven, and something is wrong with it"
    if fields["command"].split()[-1:] != [tag] or "snapshot load" not in fields["command"]:
        return f"its command does not load {tag!r}"
    if "OK" not in str(fields.get("reply")):
        return "the console's output has no OK in it"
    for part in ("boot_id", "fingerprint", "marker"):
        if not isinstance(fields.get(part), str) or not fields[part]:
            return f"its {part} is not told"
    for part in ("file_gone", "property_gone"):
        if fields.get(part) is not True:
            return f"{part}: the sentinel was not seen to go"
    frame = fields.get("frame")
    if not isinstance(frame, dict) or frame.get("uniform") is not False:
        return "no picture of more than one colour was seen"
    if not is_count(fields.get("new_transport")):
        return "no new connection was seen"
    return None if _offset(fields.get("clock_after")) else "the phone's clock was not read"


def _offset(clock: Any) -> bool:
    """Phone minus host, in seconds."""
    return isinstance(clock, dict) and isinstance(clock.get("seconds"), int | float)


def end(seen: Seen, *, reached: bool) -> None:
    if reached and seen.proven is None and seen.whole(TRACE) and not seen.told(TRACE):
        seen.add(TRACE, 0, "reset", "there is no reset")
