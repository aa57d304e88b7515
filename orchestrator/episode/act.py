"""An action done on the phone, once, and written down as the input it became."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..agent.action import Action
from ..device.faults import DeviceFault
from ..device.phone import Device
from ..device.uitree import Element

KEYS = {
    "back": "KEYCODE_BACK",
    "home": "KEYCODE_HOME",
    "enter": "KEYCODE_ENTER",
    "delete": "KEYCODE_DEL",
    "recents": "KEYCODE_APP_SWITCH",
    "notifications": "KEYCODE_NOTIFICATION",
}
SPACE = "physical_px"
TOUCHES = frozenset({"tap", "long_press", "swipe", "type", "key", "open_app"})  # the phone itself
NOTHING = Action("none")  # of a step in which the agent said no action
# Words on a phone by which a person cuts off adb; an agent that taps them did it itself.
CUTS_ADB = frozenset(
    {
        "usb debugging",
        "use developer options",
        "power off",
        "restart",
        "reboot",
        "factory reset",
    }
)
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
    try:
        device.packages.open(package)
    except DeviceFault as fault:
        if fault.reason not in ("package_missing", "command_failed"):
            raise
        return f"{app!r} cannot be opened: {fault.text}"
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


def cuts_adb(action: Action, elements: Sequence[Element]) -> bool:
    """Whether what is tapped is a switch by which a person would cut adb off.

    What takes the tap is the last clickable element under it; its words may stand in elements
    below it, beside the finger. Those of another clickable one are not its own.
    """
    if action.kind != "tap" or action.x is None or action.y is None:
        return False
    touched = -1
    for index, element in enumerate(elements):
        b = element.bounds
        if not (b.left <= action.x < b.right and b.top <= action.y < b.bottom):
            continue
        if element.clickable or touched < 0:
            touched = index
    if touched < 0:
        return False
    own = [elements[touched]]
    hidden = None  # the depth of a clickable element below, while we are in it
    for element in elements[touched + 1 :]:
        if element.depth <= own[0].depth:
            break
        if hidden is not None and element.depth > hidden:
            continue
        hidden = element.depth if element.clickable else None
        if hidden is None:
            own.append(element)
    return any(word.strip().lower() in CUTS_ADB for e in own for word in (e.text, e.description))
