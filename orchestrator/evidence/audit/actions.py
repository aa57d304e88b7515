"""Rules for the agent's calls, actions and inputs, and for its questions to the user."""

from __future__ import annotations

from ...events.canonical import Json
from .fields import is_count
from .reader import Fields
from .state import AuditState, digest_of

SPACE = "physical_px"
NO_ACTION = {"action": "none"}  # for a step without a usable action
LEVELS = ("none", "L0", "L1", "L2")
_POINTS = {"tap": ("",), "long_press": ("",), "swipe": ("start", "end")}
_QUESTIONS = ("ask", "confirm")


def check_call(state: AuditState, fields: Fields) -> None:
    step, response = fields["step_idx"], fields["response_digest"]
    state.add_step(step)
    state.responses[step] = response
    if (response is None) == (fields["error"] is None):
        state.add("call", "it must have either a response or an error")


def check_agent_action(state: AuditState, fields: Fields) -> None:
    step = fields["step_idx"]
    state.add_step(step)
    action = fields["normalized_action"] or NO_ACTION
    state.actions[step] = digest_of(action)
    state.inputs[step] = digest_of(as_input(action))
    response = state.responses.get(step)
    if response is not None and response != digest_of(fields["raw_action"]):
        state.add("call", "the response_digest of its call is not the digest of raw_action")


def check_action(state: AuditState, fields: Fields) -> None:
    step = fields["step"]
    state.add_step(step)
    if state.actions.get(step, digest_of(fields["action"])) != digest_of(fields["action"]):
        state.add("action", "it is not the normalized action")


def as_input(action: Fields) -> list[Json]:
    """The event type and payload of the input for a normalized action."""
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


def check_input(state: AuditState, fields: Fields) -> None:
    """Rules for a line of device_input_trace."""
    step, kind, payload = fields["step_idx"], fields["event_type"], fields["payload"]
    lines = state.steps["device_input_trace"]
    last = next(reversed(lines), -1)
    if step <= last:
        state.add("input_order", f"step {step} comes after {last}")
        state.broken.add("device_input_trace")
        return
    lines[step] = state.line
    if fields["source_level"] != state.run.level and state.run.level != "none":
        state.add("input_level", f"its level is not that of the run, {state.run.level}")
    elif state.run.level == "L0" and (fields["ref_step_idx"] != step or fields["mapping_warnings"]):
        text = "at L0 an input must refer to its own step and have no mapping warnings"
        state.add("input_level", text)
    points = [_point(payload, name) for name in _POINTS.get(kind, ())]
    if None in points:
        state.add("input_payload", f"a {kind} without a position in whole pixels")
        return
    width, height = state.frames.get(step, (0, 0))
    for x, y in filter(None, points):
        if step in state.frames and not (x < width and y < height):
            state.add("input_outside", f"{x},{y} is outside {width}x{height}")
            return
    made = digest_of([kind, payload])
    if state.inputs.get(step, made) != made:
        state.add("action", "it is not the normalized action")


def _point(payload: Fields, name: str) -> tuple[int, int] | None:
    at = payload.get(name) if name else payload
    if payload.get("coord_space") != SPACE or not isinstance(at, dict):
        return None
    if not is_count(at.get("x")) or not is_count(at.get("y")):
        return None
    return at["x"], at["y"]


def check_consent(state: AuditState, fields: Fields) -> None:
    """Rules for a line of the dialogue between agent and user."""
    event, step, who = fields["event"], fields["step"], fields["who"]
    if state.usable("obs_trace") and step not in state.steps["obs_trace"]:
        state.add("step_unknown", f"step {step} was not observed")
    if event == "answer" and who == "user":
        _check_answer(state, fields)
        return
    _check_unanswered(state)
    if who != "agent":
        state.add("consent", f"only the agent can {event}")
    elif event in _QUESTIONS:
        state.open_question = (event, step, state.line)
    state.consent_events[event] += 1


def _check_answer(state: AuditState, fields: Fields) -> None:
    question, state.open_question = state.open_question, None
    if question is None or question[:2] != (fields.get("to"), fields["step"]):
        state.add("consent", "it does not answer the last question")
        return
    rule, pattern, granted = (fields.get(name, "") for name in ("rule", "pattern", "granted"))
    by_rule = is_count(rule) and isinstance(pattern, str) and pattern != ""
    if not by_rule and (rule, pattern) != (None, None):
        state.add("consent_rule", "rule and pattern must be a number and a text, or both null")
    elif not isinstance(granted, bool if question[0] == "confirm" else type(None)):
        text = "granted must be true or false for a confirmation, and null for a question"
        state.add("consent_rule", text)


def _check_unanswered(state: AuditState) -> None:
    if state.open_question is not None:
        event, _, line = state.open_question
        state.add_at("consent_trace", line, "consent", f"no answer follows this {event}")
        state.open_question = None


def check_end(state: AuditState, *, reached: bool) -> None:
    _check_unanswered(state)
    if reached and state.run.level != "none" and state.empty("device_input_trace"):
        state.add_at("device_input_trace", 0, "input_none", "there is no input")
