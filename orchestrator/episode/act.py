"""An action done on the phone, once, and written down as the input it became."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..agent.action import Action
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
Pause = Callable[[float], object]


def perform(device: Device, action: Action, roles: Mapping[str, str], pause: Pause) -> str:
    """Does it; the word for the trace: ok, or why the phone could not be asked to."""
    match action.kind:
        case "tap":
            device.touch.tap(*_at(action))
        case "long_press":
            device.touch.long_press(*_at(action))
        case "swipe":
            device.touch.swipe(*_at(action), *_to(action))
        case "type":
            device.touch.text(action.text)
        case "key":
            device.touch.key(KEYS[action.text])
        case "open_app":
            return _open(device, action.text, roles)
        case "wait":
            pause(action.seconds)
    return "ok"


def _at(action: Action) -> tuple[int, int]:
    assert action.x is not None, action
    assert action.y is not None, action
    return action.x, action.y


def _to(action: Action) -> tuple[int, int]:
    assert action.end_x is not None, action
    assert action.end_y is not None, action
    return action.end_x, action.end_y


def _open(device: Device, app: str, roles: Mapping[str, str]) -> str:
    """By role, by package; an app that is not there is the agent's mistake, not the phone's."""
    package = roles.get(app.strip().lower(), app.strip())
    if package not in device.packages.names():
        return f"there is no app {app!r}; known are {', '.join(sorted(roles))}"
    device.packages.open(package)
    return "ok"


def input_line(action: Action, step: int, now_ms: int) -> dict[str, Any]:
    """The line of device_input_trace.jsonl: the harness itself executed it (L0)."""
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
    elif action.kind != "done":
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
