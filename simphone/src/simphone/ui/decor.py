"""The bars around every app: status above, navigation below."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from . import theme
from .node import HEIGHT, WIDTH, Fill, Icon, Label, Node, Rect, dp
from .widgets import box

if TYPE_CHECKING:
    from ..world import World

# Name, icon, size of what stands in the navigation bar.
BUTTONS = (
    ("Back", "chevron_left", 28),
    ("Home", "circle_outline", 17),
    ("Overview", "square_outline", 17),
)


def status_bar(world: World, ink: str) -> Node:
    """Clock and state at the top; a tap on it does nothing, a swipe down opens the shade."""
    settings = world.settings
    height = theme.STATUS_BAR
    airplane = settings.on("global", "airplane_mode_on")
    signs = ["battery"]
    signs.append("airplane" if airplane else "signal")
    if settings.on("global", "wifi_on"):
        signs.append("wifi")
    if settings.on("global", "bluetooth_on") and not airplane:
        signs.append("bluetooth")
    children = [
        box(
            Rect(theme.MARGIN, dp(4), dp(100), height),
            Label((world.clock.date().strftime("%H:%M"),), dp(14), ink, "Medium"),
        )
    ]
    right = WIDTH - theme.MARGIN
    for sign in signs:
        children.append(box(Rect(right - dp(18), dp(4), right, height), Icon(sign, dp(16), ink)))
        right -= dp(20)
    left = dp(72)
    for _ in world.notifications.all()[:4]:
        children.append(box(Rect(left, dp(4), left + dp(14), height), Icon("bell", dp(13), ink)))
        left += dp(18)
    return Node(Rect(0, 0, WIDTH, height), "android.widget.FrameLayout", children=tuple(children))


def navigation_bar(press: Callable[[str], None], ink: str, ground: str) -> Node:
    """Back, home and overview."""
    top = HEIGHT - theme.NAV_BAR
    third = WIDTH // 3
    buttons = []
    for number, (name, glyph, size) in enumerate(BUTTONS):
        frame = Rect(number * third, top, (number + 1) * third, HEIGHT)
        buttons.append(
            Node(
                frame,
                "android.widget.ImageView",
                desc=name,
                tap=partial(press, name),
                paint=(Icon(glyph, dp(size), ink),),
            )
        )
    return Node(
        Rect(0, top, WIDTH, HEIGHT),
        "android.widget.FrameLayout",
        paint=(Fill(ground),) if ground else (),
        children=tuple(buttons),
    )
