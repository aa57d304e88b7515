"""Rules for resets: the attempt started from the proven snapshot, on the pinned device."""

from __future__ import annotations

from .fields import is_count
from .reader import Fields
from .state import AuditState

TRACE = "device_trace"


def check_device_event(state: AuditState, fields: Fields) -> None:
    if fields["event"] == "reset":
        _check_reset(state, fields)
    elif fields["event"] == "pins":
        state.pins_match = not fields["wrong"] and _has_both_values(fields["pins"])
    elif fields["event"] == "device":
        if state.empty(TRACE):
            _check_before_first_step(state)
        state.add_step(fields["step"])


def _has_both_values(pins: Fields) -> bool:
    """Whether there is a pin, and every pin has its baked and its found value."""
    both = {"baked", "found"}
    return bool(pins) and all(isinstance(pin, dict) and both <= pin.keys() for pin in pins.values())


def _check_before_first_step(state: AuditState) -> None:
    """At the first observed step the phone must be the one that the run names."""
    if not state.reset_proven:
        state.add("reset", "a step was observed, but the last reset before it is not proven")
    elif not state.pins_match:
        text = "a step was observed, but the device was not compared with its pins or differs"
        state.add("pins", text)


def _check_reset(state: AuditState, fields: Fields) -> None:
    if state.steps[TRACE]:
        state.add("reset", "the phone was reset after its first step")
        return
    state.reset_proven = fields["proven"]
    if not state.reset_proven:
        if not fields["wrong"]:
            state.add("reset_proof", "it is not proven, and no reason is given")
        return
    problem = _proof_problem(fields)
    if problem is not None:
        state.add("reset_proof", problem)
    elif state.run.image is not None:
        odd = [part for part, value in state.run.image.items() if fields[part] != value]
        if odd:
            state.add("reset_image", f"its {', '.join(odd)} is not that of the run's image lock")


def _proof_problem(fields: Fields) -> str | None:
    """The first part of the proof that is missing or proves nothing."""
    tag = fields["snapshot_tag"]
    if fields["wrong"]:
        return "it is marked as proven, but lists something wrong"
    if fields["command"].split()[-1:] != [tag] or "snapshot load" not in fields["command"]:
        return f"its command does not load {tag!r}"
    if "OK" not in str(fields.get("reply")):
        return "the console's output contains no OK"
    for part in ("boot_id", "fingerprint", "marker"):
        if not isinstance(fields.get(part), str) or not fields[part]:
            return f"its {part} is missing"
    for part in ("file_gone", "property_gone"):
        if fields.get(part) is not True:
            return f"{part}: the sentinel was not seen to disappear"
    frame = fields.get("frame")
    if not isinstance(frame, dict) or frame.get("uniform") is not False:
        return "no picture with more than one colour was seen"
    if not is_count(fields.get("new_transport")):
        return "no new connection was seen"
    clock = fields.get("clock_after")  # the phone's minus the host's
    read = isinstance(clock, dict) and isinstance(clock.get("seconds"), int | float)
    return None if read else "the phone's clock was not read"


def check_end(state: AuditState, *, reached: bool) -> None:
    if reached and state.reset_proven is None and state.empty(TRACE):
        state.add_at(TRACE, 0, "reset", "there is no reset")
