"""Rules for what a step showed: its picture, screen size, UI tree and elements."""

from __future__ import annotations

import re
import struct

from .reader import Fields
from .state import AuditState

PICTURES, DUMPS = "screenshots", "ui_dump"
_PICTURE = re.compile(rf"{PICTURES}/[A-Za-z0-9_-][A-Za-z0-9._-]*\.png")
_PNG = b"\x89PNG\r\n\x1a\n"
_FLAGS = (
    "long_clickable", "scrollable", "checkable", "checked", "enabled", "focused", "selected",
    "password", "focusable", "visible",
)  # fmt: skip
# Traces in which every observed step has one line, and the rule that says so.
STEP_TRACES = {
    "screen_trace": "step_lines",
    "foreground_trace": "step_lines",
    "device_trace": "step_lines",
    "action_trace": "step_lines",
    "device_input_trace": "step_lines",
    "agent_call_trace": "step_agent",
    "agent_action_trace": "step_agent",
}


def check_observation(state: AuditState, fields: Fields) -> None:
    step, picture, ui_hash = fields["step"], fields["screenshot_file"], fields["ui_hash"]
    state.add_step(step)
    if _PICTURE.fullmatch(picture) is None:
        state.add("picture", f"{picture!r} is not a file in {PICTURES}/")
    else:
        state.pictures[step] = picture
        _check_file(state, "picture", picture, fields["screenshot_sha256"])
    state.trees[step] = ui_hash
    if ui_hash is not None:
        _check_file(state, "dump", f"{DUMPS}/uiautomator_{ui_hash[:16]}.xml", ui_hash)
    elif not fields["warning"]:
        state.add("no_tree", "there is no tree, and no warning gives a reason")


def _check_file(state: AuditState, rule: str, name: str, sha256: str) -> None:
    measure = state.measure(name)
    if measure is None:
        state.add(rule, f"{name} does not exist")
    elif measure[1] != sha256:
        state.add(rule, f"{name} does not match its digest")


def check_screen(state: AuditState, fields: Fields) -> None:
    step, logical = fields["step"], fields["logical_screen_size_px"]
    size, frame = fields["screenshot_size_px"], fields["physical_frame_boundary_px"]
    state.add_step(step)
    state.frames[step] = (frame["right"], frame["bottom"])
    whole_picture = (0, 0, size["width"], size["height"])
    turns, natural = fields["surface_orientation"], (fields["width_px"], fields["height_px"])
    upright = logical["height"] >= logical["width"]
    if (frame["left"], frame["top"], frame["right"], frame["bottom"]) != whole_picture:
        state.add("screen", "the frame is not that of the picture")
    elif turns not in (None, 0, 1, 2, 3):
        state.add("screen", f"{turns} is not a number of quarter turns")
    elif (logical["width"], logical["height"]) != (natural[::-1] if turns in (1, 3) else natural):
        state.add("screen", "the logical size is not that of the turned screen")
    elif fields["orientation"] != ("portrait" if upright else "landscape"):
        state.add("screen", "the orientation is not that of the logical size")
    _check_picture_size(state, step, whole_picture[2:])


def _check_picture_size(state: AuditState, step: int, size: tuple[int, int]) -> None:
    """The picture itself has the size that the screen event states."""
    picture = state.pictures.get(step)
    if picture is None or state.measure(picture) is None:
        return
    start = state.folder.read(picture, 24) or b""
    if not start.startswith(_PNG) or len(start) < 24:
        observed = state.steps["obs_trace"][step]
        state.add_at("obs_trace", observed, "picture", f"{picture} is not a PNG")
    elif struct.unpack(">II", start[16:]) != size:
        state.add("screen", f"{picture} has another size")


def check_foreground(state: AuditState, fields: Fields) -> None:
    state.add_step(fields["step"])


def check_elements(state: AuditState, fields: Fields) -> None:
    step, found = fields["step"], fields["ui_elements"]
    state.add_step(step)
    if not found or fields["elements_count"] != len(found):
        text = f"{fields['elements_count']} are counted, {len(found)} are listed"
        state.add("elements", text)
    elif step in state.trees and fields["ui_hash"] != state.trees[step]:
        state.add("elements", "its ui_hash is not the step's")
    for number, element in enumerate(found):
        wrong = element_problem(element)
        if wrong is not None:
            state.add("element", f"element {number}: {wrong}")
            return


def element_problem(element: object) -> str | None:
    if not isinstance(element, dict):
        return "it is not an object"
    box = element.get("bbox")
    if not isinstance(box, list) or len(box) != 4 or not all(type(n) is int for n in box):
        return "its bbox is not four integers"
    if not isinstance(element.get("clickable"), bool):
        return "clickable is neither true nor false"
    if not isinstance(element.get("package"), str):
        return "its package is not a text"
    texts = [element.get(name) or "" for name in ("text", "desc", "resource_id")]
    if not all(isinstance(text, str) for text in texts) or not any(texts):
        return "it has no text, no description and no id"
    odd = [name for name in _FLAGS if not isinstance(element.get(name), bool | None)]
    return f"{odd[0]} is neither true, false nor null" if odd else None


def check_end(state: AuditState, *, reached: bool) -> None:
    """Rules that compare complete traces."""
    observed = state.steps["obs_trace"]
    if not state.usable("obs_trace"):
        return
    if list(observed) != list(range(len(observed))):
        state.add_at("obs_trace", 0, "step_order", "the observed steps do not count up from 0")
    for trace, rule in STEP_TRACES.items():
        lines = state.steps[trace]
        if trace == "device_input_trace" and not lines:
            continue  # input_none is the rule for that
        if lines.keys() != observed.keys() and state.usable(trace):
            odd = min(lines.keys() ^ observed.keys())
            text = f"step {odd} has a line in only one of obs_trace and this trace"
            state.add_at(trace, lines.get(odd, 0), rule, text)
    for step, line in state.steps["ui_elements"].items():
        if step not in observed:
            text = f"step {step} was not observed"
            state.add_at("ui_elements", line, "step_unknown", text)
    if not reached:
        return
    if not any(state.trees.values()):
        state.add_at("obs_trace", 0, "dump_none", "no step has a tree")
    elif state.empty("ui_elements"):
        state.add_at("ui_elements", 0, "elements_none", "no step has elements")
