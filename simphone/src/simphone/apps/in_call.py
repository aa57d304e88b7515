"""The screen of a call: who, for how long, and the buttons that answer and end it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..ui import theme
from ..ui.dialpad import round_button
from ..ui.node import WIDTH, Fill, Icon, Node, Rect, dp
from ..ui.screen import Screen
from ..ui.widgets import box, line_of
from .calling import GREEN, RED
from .people import directory, face, named
from .when import lasting

if TYPE_CHECKING:
    from ..world import World

GROUND = "#E9EEF8"
# Key in the screen's arguments, icon and words of what can be switched during a call.
SWITCHES = (("mute", "microphone", "Mute"), ("speaker", "volume_high", "Speaker"))


def centred(words: str, top: int, size: int, ink: str, weight: str, id: str) -> Node:
    frame = Rect(theme.MARGIN, top, WIDTH - theme.MARGIN, top + round(size * 1.5))
    return Node(frame, "android.widget.TextView", words, id=id,
                paint=(line_of(words, frame, size, ink, weight, "centre"),))  # fmt: skip


def state_words(world: World) -> str:
    call = world.telephony.call
    if call is None:
        return "Call ended"
    if call.state == "active":
        return lasting((world.clock.now_ms() - call.answered_ms) // 1000)
    return "Incoming call" if call.state == "ringing" else "Calling…"


def toggle(screen: Screen, name: str) -> None:
    screen.args[name] = not screen.args.get(name)


def switches(screen: Screen) -> list[Node]:
    nodes = []
    for number, (name, icon, words) in enumerate(SWITCHES):
        on = bool(screen.args.get(name))
        x = WIDTH * (2 * number + 1) // 4
        frame = Rect(x - dp(60), dp(520), x + dp(60), dp(612))
        disc = Rect(x - dp(30), dp(524), x + dp(30), dp(584))
        label = Rect(frame.left, disc.bottom + dp(4), frame.right, frame.bottom)
        ground, ink = (theme.PRIMARY, "#FFFFFF") if on else ("#FFFFFF", theme.TEXT)
        nodes.append(
            Node(frame, "android.widget.ToggleButton", words, desc=words, id=name, checked=on,
                 tap=partial(toggle, screen, name),
                 children=(box(disc, Fill(ground, dp(30)), Icon(icon, dp(26), ink)),
                           box(label, line_of(words, label, dp(13), theme.TEXT_SOFT, "Medium",
                                              "centre"))))
        )  # fmt: skip
    return nodes


def in_call(world: World, screen: Screen) -> Node:
    telephony = world.telephony
    call = telephony.call
    number = call.number if call else ""
    name = named(directory(world), number)
    parts = [
        centred(name, dp(92), dp(30), theme.TEXT, "Regular", "contactgrid_contact_name"),
        centred(number if name != number else "Mobile", dp(144), dp(16), theme.TEXT_SOFT,
                "Regular", "contactgrid_forward_number"),
        centred(state_words(world), dp(174), dp(18), theme.TEXT_SOFT, "Medium",
                "contactgrid_status_text"),
        face(name, WIDTH // 2, dp(300), dp(56)),
    ]  # fmt: skip
    bottom = dp(700)
    if call is not None and call.state == "ringing":
        parts += [
            round_button("phone_hangup", "Decline", WIDTH // 4, bottom, RED, telephony.hang_up,
                         id="decline"),
            round_button("phone", "Answer", WIDTH * 3 // 4, bottom, GREEN, telephony.accept,
                         id="answer"),
        ]  # fmt: skip
    elif call is not None:
        parts += switches(screen)
        parts.append(round_button("phone_hangup", "End call", WIDTH // 2, bottom, RED,
                                  telephony.hang_up, id="incall_end_call"))  # fmt: skip
    whole = Rect(0, 0, WIDTH, theme.CONTENT_BOTTOM)
    return Node(whole, "android.widget.FrameLayout", id="incall_root", paint=(Fill(GROUND),),
                children=tuple(parts))  # fmt: skip
