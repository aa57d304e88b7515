"""Observations for agents to act on, without a phone."""

from __future__ import annotations

from orchestrator.agent.agent import Observation
from orchestrator.device.uitree import Bounds, Element

WIDTH, HEIGHT = 1080, 2400
PNG = b"\x89PNG a picture"


def element(
    text: str = "",
    bounds: tuple[int, int, int, int] = (0, 100, 200, 200),
    *,
    description: str = "",
    kind: str = "android.widget.TextView",
    clickable: bool = False,
    scrollable: bool = False,
    enabled: bool = True,
    focused: bool = False,
) -> Element:
    return Element(
        depth=0,
        text=text,
        description=description,
        resource_id="",
        class_name=kind,
        package="com.example",
        bounds=Bounds(*bounds),
        clickable=clickable,
        long_clickable=False,
        scrollable=scrollable,
        checkable=False,
        checked=False,
        enabled=enabled,
        focused=focused,
        selected=False,
        password=False,
    )


def seen(*elements: Element, tree: bool = True, goal: str = "Do it", step: int = 0) -> Observation:
    return Observation(step, goal, WIDTH, HEIGHT, PNG, elements if tree else None)
