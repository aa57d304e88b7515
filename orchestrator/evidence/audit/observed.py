"""Is what a step showed whole: its picture, its screen, its tree, its elements?"""

from __future__ import annotations

import re
import struct

from .reading import Fields
from .seen import Seen

PICTURES, DUMPS = "screenshots", "ui_dump"
_PICTURE = re.compile(rf"{PICTURES}/[A-Za-z0-9_-][A-Za-z0-9._-]*\.png")
_PNG = b"\x89PNG\r\n\x1a\n"
_FLAGS = (
    "long_clickable", "scrollable", "checkable", "checked", "enabled", "focused", "selected",
    "password", "focusable", "visible",
)  # fmt: skip
# Traces in which every observed step has one line, and the rule that says so.
STEPPED = {
    "screen_trace": "step_lines",
    "foreground_trace": "step_lines",
    "device_trace": "step_lines",
    "action_trace": "step_lines",
    "device_input_trace": "step_lines",
    "agent_call_trace": "step_agent",
    "agent_action_trace": "step_agent",
}


def observation(seen: Seen, line: int, fields: Fields) -> None:
    step, picture, ui_hash = fields["step"], fields["screenshot_file"], fields["ui_hash"]
    seen.count("obs_trace", line, step)
    if _PICTURE.fullmatch(picture) is None:
        seen.add("obs_trace", line, "picture", f"{picture!r} names no file in {PICTURES}/")
    else:
        seen.pictures[step] = picture
        _held(seen, line, "picture", picture, fields["screenshot_sha256"])
    seen.trees[step] = ui_hash
    if ui_hash is not None:
        _held(seen, line, "dump", f"{DUMPS}/uiautomator_{ui_hash[:16]}.xml", ui_hash)
    elif not fields["warning"]:
        seen.add("obs_trace", line, "no_tree", "there is no tree, and no warning says why")


def _held(seen: Seen, line: int, rule: str, name: str, sha256: str) -> None:
    measure = seen.measure(name)
    if measure is None:
        seen.add("obs_trace", line, rule, f"{name} is not there")
    elif measure[1] != sha256:
        seen.add("obs_trace", line, rule, f"{name} is not what its digest says")


def screen(seen: Seen, line: int, fields: Fields) -> None:
    step, logical = fields["step"], fields["logical_screen_size_px"]
    size, frame = fields["screenshot_size_px"], fields["physical_frame_boundary_px"]
    seen.count("screen_trace", line, step)
    seen.frames[step] = (frame["right"], frame["bottom"])
    whole_picture = (0, 0, size["width"], size["height"])
    turns, natural = fields["surface_orientation"], (fields["width_px"], fields["height_px"])
    upright = logical["height"] >= logical["width"]
    if (frame["left"], frame["top"], frame["right"], frame["bottom"]) != whole_picture:
        seen.add("screen_trace", line, "screen", "the frame is not the picture's")
    elif turns not in (None, 0, 1, 2, 3):
        seen.add("screen_trace", line, "screen", f"{turns} is no number of quarter turns")
    elif (logical["width"], logical["height"]) != (natural[::-1] if turns in (1, 3) else natural):
        seen.add("screen_trace", line, "screen", "the logical size is not the turned screen's")
    elif fields["orientation"] != ("portrait" if upright else "landscape"):
        seen.add("screen_trace", line, "screen", "the orientation is not that of the logical size")
    _drawn(seen, line, step, whole_picture[2:])


def _drawn(seen: Seen, line: int, step: int, size: tuple[int, int]) -> None:
    """The picture itself is of the size that the screen event says."""
    picture = seen.pictures.get(step)
    if picture is None or seen.measure(picture) is None:
        return
    start = seen.folder.start(picture, 24)
    if not start.startswith(_PNG) or len(start) < 24:
        seen.add("obs_trace", seen.told("obs_trace")[step], "picture", f"{picture} is no PNG")
    elif struct.unpack(">II", start[16:]) != size:
        seen.add("screen_trace", line, "screen", f"{picture} is of another size")


def foreground(seen: Seen, line: int, fields: Fields) -> None:
    seen.count("foreground_trace", line, fields["step"])


def elements(seen: Seen, line: int, fields: Fields) -> None:
    step, found = fields["step"], fields["ui_elements"]
    seen.count("ui_elements", line, step)
    if not found or fields["elements_count"] != len(found):
        text = f"{fields['elements_count']} are counted, {len(found)} are there"
        seen.add("ui_elements", line, "elements", text)
    elif step in seen.trees and fields["ui_hash"] != seen.trees[step]:
        seen.add("ui_elements", line, "elements", "its ui_hash is not the step's")
    for number, element in enumerate(found):
        wrong = element_problem(element)
        if wrong is not None:
            seen.add("ui_elements", line, "element", f"element {number}: {wrong}")
            return


def element_problem(element: object) -> str | None:
    if not isinstance(element, dict):
        return "it is no object"
    box = element.get("bbox")
    if not isinstance(box, list) or len(box) != 4 or not all(type(n) is int for n in box):
        return "its bbox is not four integers"
    if not isinstance(element.get("clickable"), bool):
        return "clickable is neither true nor false"
    if not isinstance(element.get("package"), str):
        return "its package is no text"
    words = [element.get(name) or "" for name in ("text", "desc", "resource_id")]
    if not all(isinstance(word, str) for word in words) or not any(words):
        return "it has no text, no description and no id"
    odd = [name for name in _FLAGS if not isinstance(element.get(name), bool | None)]
    return f"{odd[0]} is neither true, false nor null" if odd else None


def end(seen: Seen, *, reached: bool) -> None:
    """What only whole traces can tell."""
    observed = seen.told("obs_trace")
    if not seen.whole("obs_trace"):
        return
    if list(observed) != list(range(len(observed))):
        seen.add("obs_trace", 0, "step_order", "the observed steps do not count up from 0")
    for trace, rule in STEPPED.items():
        told = seen.told(trace)
        if trace == "device_input_trace" and not told:
            continue  # a rule of its own
        if told.keys() != observed.keys() and seen.whole(trace):
            odd = min(told.keys() ^ observed.keys())
            text = f"step {odd} is observed and not here, or here and not observed"
            seen.add(trace, told.get(odd, 0), rule, text)
    for step, line in seen.told("ui_elements").items():
        if step not in observed:
            seen.add("ui_elements", line, "step_unknown", f"step {step} was not observed")
    if not reached:
        return
    if not any(seen.trees.values()):
        seen.add("obs_trace", 0, "dump_none", "no step has a tree")
    elif not seen.told("ui_elements") and seen.whole("ui_elements"):
        seen.add("ui_elements", 0, "elements_none", "no step has elements")
