"""Is what the agent said what was done, and did the user answer by a rule?"""

from __future__ import annotations

from ...events.canonical import Json
from .reading import Fields
from .seen import Seen, digest_of
from .shapes import is_count

SPACE = "physical_px"
NO_ACTION = {"action": "none"}  # of a step in which the agent said none
LEVELS = ("none", "L0", "L1", "L2")
_POINTS = {"tap": ("",), "long_press": ("",), "swipe": ("start", "end")}
_QUESTIONS = ("ask", "confirm")


def call(seen: Seen, line: int, fields: Fields) -> None:
    step, response = fields["step_idx"], fields["response_digest"]
    seen.count("agent_call_trace", line, step)
    seen.responses[step] = response
    if (response is None) == (fields["error"] is None):
        seen.add("agent_call_trace", line, "call", "it has a response and an error, or neither")


def agent_action(seen: Seen, line: int, fields: Fields) -> None:
    step = fields["step_idx"]
    seen.count("agent_action_trace", line, step)
    action = fields["normalized_action"] or NO_ACTION
    seen.actions[step] = digest_of(action)
    seen.inputs[step] = digest_of(as_input(action))
    response = seen.responses.get(step)
    if response is not None and response != digest_of(fields["raw_action"]):
        text = "its call's response_digest is not that of raw_action"
        seen.add("agent_action_trace", line, "call", text)


def action(seen: Seen, line: int, fields: Fields) -> None:
    step = fields["step"]
    seen.count("action_trace", line, step)
    if seen.actions.get(step, digest_of(fields["action"])) != digest_of(fields["action"]):
        seen.add("action_trace", line, "action", "it is not the action that was normalized")


def as_input(action: Fields) -> list[Json]:
    """Kind and payload that a normalized action becomes."""
    kind = action.get("action")
    match kind:
        case "tap" | "long_press":
            return [kind, {"coord_space": SPACE, "x": action.get("x"), "y": action.get("y")}]
        case "swipe":
            ends = {name: _corner(action.get(name)) for name in ("start", "end")}
            return [kind, {"coord_space": SPACE, **ends}]
        case "wait":
            return [kind, {"seconds": action.get("seconds")}]
        case "done" | "none":
            return [kind, {}]
    return [kind, {"text": action.get("text")}]


def _corner(point: Json) -> Json:
    if not isinstance(point, list) or len(point) != 2:
        return None
    return {"x": point[0], "y": point[1]}


def given(seen: Seen, line: int, fields: Fields) -> None:
    """A line of device_input_trace."""
    step, kind, payload = fields["step_idx"], fields["event_type"], fields["payload"]
    told = seen.steps.setdefault("device_input_trace", {})
    last = next(reversed(told), -1)
    if step <= last:
        seen.add("device_input_trace", line, "input_order", f"step {step} comes after {last}")
        seen.broken.add("device_input_trace")
        return
    told[step] = line
    if fields["source_level"] != seen.run.level and seen.run.level != "none":
        text = f"it is of another level than the run, which is {seen.run.level}"
        seen.add("device_input_trace", line, "input_level", text)
    elif seen.run.level == "L0" and (fields["ref_step_idx"] != step or fields["mapping_warnings"]):
        text = "at L0 an input refers to its own step, and nothing was mapped"
        seen.add("device_input_trace", line, "input_level", text)
    points = [_point(payload, name) for name in _POINTS.get(kind, ())]
    if None in points:
        seen.add("device_input_trace", line, "input_payload", f"a {kind} without whole pixels")
        return
    width, height = seen.frames.get(step, (0, 0))
    for x, y in filter(None, points):
        if step in seen.frames and not (x < width and y < height):
            text = f"{x},{y} is outside {width}x{height}"
            seen.add("device_input_trace", line, "input_outside", text)
            return
    made = digest_of([kind, payload])
    if seen.inputs.get(step, made) != made:
        text = "it is not the action that was normalized"
        seen.add("device_input_trace", line, "action", text)


def _point(payload: Fields, name: str) -> tuple[int, int] | None:
    at = payload.get(name) if name else payload
    if payload.get("coord_space") != SPACE or not isinstance(at, dict):
        return None
    if not is_count(at.get("x")) or not is_count(at.get("y")):
        return None
    return at["x"], at["y"]


def consent(seen: Seen, line: int, fields: Fields) -> None:
    """One line of the talk between agent and user."""
    event, step, who = fields["event"], fields["step"], fields["who"]
    if seen.whole("obs_trace") and step not in seen.told("obs_trace"):
        seen.add("consent_trace", line, "step_unknown", f"step {step} was not observed")
    if event == "answer" and who == "user":
        _answer(seen, line, fields)
        return
    unanswered(seen)
    if who != "agent":
        seen.add("consent_trace", line, "consent", f"{event} is the agent's to say")
    elif event in _QUESTIONS:
        seen.question = (event, step, line)
    seen.turned[event] += 1


def _answer(seen: Seen, line: int, fields: Fields) -> None:
    question, seen.question = seen.question, None
    if question is None or question[:2] != (fields.get("to"), fields["step"]):
        seen.add("consent_trace", line, "consent", "it answers no question")
        return
    rule, pattern, granted = (fields.get(name, "") for name in ("rule", "pattern", "granted"))
    by_rule = is_count(rule) and isinstance(pattern, str) and pattern != ""
    if not by_rule and (rule, pattern) != (None, None):
        text = "it names no rule by number and pattern, and does not say that there is none"
        seen.add("consent_trace", line, "consent_rule", text)
    elif not isinstance(granted, bool if question[0] == "confirm" else type(None)):
        text = "a confirmation is granted or not, and a question is neither"
        seen.add("consent_trace", line, "consent_rule", text)


def unanswered(seen: Seen) -> None:
    if seen.question is not None:
        text = f"nobody answered this {seen.question[0]}"
        seen.add("consent_trace", seen.question[2], "consent", text)
        seen.question = None


def end(seen: Seen, *, reached: bool) -> None:
    unanswered(seen)
    inputs = "device_input_trace"
    if reached and seen.run.level != "none" and not seen.told(inputs) and seen.whole(inputs):
        seen.add(inputs, 0, "input_none", "there is no input")
