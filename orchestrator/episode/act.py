"""Performs an agent's action once, and describes it for the trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..agent.agent import Action
from ..device.faults import DeviceFault
from ..device.phone import Device

KEYS = {
    "back": "KEYCODE_BACK",
    "home": "KEYCODE_HOME",
    "enter": "KEYCODE_ENTER",
    "delete": "KEYCODE_DEL",
    "recents": "KEYCODE_APP_SWITCH",
    "notifications": "KEYCODE_NOTIFICATION",
}
SPACE = "physical_px"
# The actions that reach the phone.
TOUCHES = frozenset({"tap", "long_press", "swipe", "type", "key", "open_app"})
# Those, and what an oracle may ask the agent itself. A success without any is none of its doing.
INPUTS = TOUCHES | {"answer"}
NOTHING = Action("none")  # for a step in which the agent gave no valid action
Pause = Callable[[float], object]


def perform(device: Device, action: Action, roles: Mapping[str, str], pause: Pause) -> str:
    """Performs the action; returns the result for the trace: `ok`, or why it is impossible."""
    match action.kind:
        case "tap":
            device.input.tap(*_pixels(action.x, action.y))
        case "long_press":
            device.input.long_press(*_pixels(action.x, action.y))
        case "swipe":
            device.input.swipe(*_pixels(action.x, action.y, action.end_x, action.end_y))
        case "type":
            device.input.text(action.text)
        case "key":
            device.input.key(KEYS[action.text])
        case "open_app":
            return _open(device, action.text, roles)
        case "wait":
            pause(action.seconds)
    return "ok"


def _pixels(*values: int | None) -> list[int]:
    assert None not in values, values
    return [value for value in values if value is not None]


def _open(device: Device, app: str, roles: Mapping[str, str]) -> str:
    """Opens an app by role or package; a missing app is the agent's mistake, not a fault."""
    package = roles.get(app.strip().lower(), app.strip())
    if package not in device.packages.names():
        return f"there is no app {app!r}; known are {', '.join(sorted(roles))}"
    try:
        device.packages.open(package)
    except DeviceFault as fault:
        if fault.reason not in ("package_missing", "command_failed"):
            raise
        return f"{app!r} cannot be opened: {fault.text}"
    return "ok"


def input_line(action: Action, step: int, now_ms: int) -> dict[str, Any]:
    """The line of device_input_trace.jsonl; L0: the harness itself executed the action."""
    payload: dict[str, Any] = {}
    if action.kind in ("tap", "long_press"):
        payload = {"coord_space": SPACE, "x": action.x, "y": action.y}
    elif action.kind == "swipe":
        payload = {
            "coord_space": SPACE,
            "start": {"x": action.x, "y": action.y},
            "end": {"x": action.end_x, "y": action.end_y},
        }
    elif action.kind == "wait":
        payload = {"seconds": action.seconds}
    elif action.kind not in ("done", NOTHING.kind):
        payload = {"text": action.text}
    return {
        "step_idx": step,
        "ref_step_idx": step,
        "source_level": "L0",
        "event_type": action.kind,
        "payload": payload,
        "timestamp_ms": now_ms,
        "mapping_warnings": [],
    }
