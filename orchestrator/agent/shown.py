"""How is an observation shown to a program? As JSON that a newcomer can read.

The agent is blind: what stands here is all that it gets. Nothing in it names the case, the variant,
the seed or a path.
"""

from __future__ import annotations

import base64
from typing import Any

from ..device.uitree import Element
from .agent import Observation


def shown(observation: Observation) -> dict[str, Any]:
    """`elements` is null where the phone gave no tree; its order is what an action counts by."""
    elements = observation.elements
    return {
        "step": observation.step,
        "goal": observation.goal,
        "screen": {"width": observation.width, "height": observation.height},
        "screenshot": base64.b64encode(observation.screenshot).decode("ascii"),
        "elements": None
        if elements is None
        else [_element(index, element) for index, element in enumerate(elements)],
        "message": observation.message,
    }


def _element(index: int, element: Element) -> dict[str, Any]:
    bounds = element.bounds
    return {
        "index": index,
        "text": element.text,
        "description": element.description,
        "resource_id": element.resource_id,
        "class": element.class_name,
        "package": element.package,
        "bounds": [bounds.left, bounds.top, bounds.right, bounds.bottom],
        "clickable": element.clickable,
        "long_clickable": element.long_clickable,
        "scrollable": element.scrollable,
        "checkable": element.checkable,
        "checked": element.checked,
        "enabled": element.enabled,
        "focused": element.focused,
        "selected": element.selected,
        "password": element.password,
    }
