"""What the system itself shows: the notification shade, permission prompts."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from ..services.notifications import Notification
from ..state import Json
from ..ui import theme
from ..ui.node import SCREEN, WIDTH, Fill, Icon, Label, Node, Rect, dp
from ..ui.scaffold import dialog
from ..ui.screen import SYSTEM_UI, Intent, Screen
from ..ui.widgets import Button, bar, box, line_of
from .builtin import Builtin

if TYPE_CHECKING:
    from ..world import World

# Name, setting, icon of the quick tiles.
TILES = (
    ("Wi-Fi", "wifi_on", "wifi"),
    ("Bluetooth", "bluetooth_on", "bluetooth"),
    ("Airplane mode", "airplane_mode_on", "airplane"),
)
PERMISSION_CONTROLLER = "com.android.permissioncontroller"


def toggle(world: World, name: str) -> None:
    world.settings.put("global", name, "0" if world.settings.on("global", name) else "1")


class SystemUi(Builtin):
    package = SYSTEM_UI
    label = "System UI"
    launcher = False

    def open(self, world: World, intent: Intent) -> Screen | None:
        return None

    def view(self, world: World, screen: Screen) -> Node:
        parts = quick_tiles(world)
        top = dp(190)
        for posted in world.notifications.all()[:8]:
            parts.append(card(world, posted, top))
            top = parts[-1].frame.bottom + dp(8)
        if world.notifications.all():
            clear = Button("Clear all", world.notifications.clear, "dismiss_text", "soft")
            parts.append(bar(clear)(0, top, WIDTH))
        else:
            frame = Rect(0, top, WIDTH, top + dp(60))
            parts.append(
                Node(
                    frame,
                    "android.widget.TextView",
                    "No notifications",
                    id="no_notifications",
                    paint=(
                        Label(("No notifications",), theme.SMALL, "#D0D3DB", "Regular", "centre"),
                    ),
                )
            )
        return Node(
            SCREEN,
            "android.widget.FrameLayout",
            id="notification_panel",
            paint=(Fill("#23262E"),),
            children=tuple(parts),
        )


def quick_tiles(world: World) -> list[Node]:
    tiles = []
    wide = (WIDTH - 2 * theme.MARGIN - 2 * dp(8)) // 3
    for number, (label, name, icon) in enumerate(TILES):
        on = world.settings.on("global", name)
        left = theme.MARGIN + number * (wide + dp(8))
        frame = Rect(left, dp(60), left + wide, dp(150))
        ink = theme.ON_PRIMARY_SOFT if on else "#E4E6ED"
        words = Rect(left, dp(112), left + wide, dp(142))
        tiles.append(
            Node(
                frame,
                "android.widget.Switch",
                label,
                desc=label,
                checked=on,
                tap=partial(toggle, world, name),
                paint=(Fill(theme.PRIMARY_SOFT if on else "#3A3E49", dp(20)),),
                children=(
                    box(Rect(left, dp(66), left + wide, dp(112)), Icon(icon, dp(26), ink)),
                    box(words, line_of(label, words, dp(13), ink, "Medium", "centre")),
                ),
            )
        )
    return tiles


def open_notification(world: World, posted: Notification) -> None:
    world.notifications.cancel(posted.key)
    intent = Intent(
        package=posted.package, activity=posted.activity, extras=json.loads(posted.args or "{}")
    )
    world.windows.close_shade()
    world.windows.launch(intent)


def card(world: World, posted: Notification, top: int) -> Node:
    app = world.apps.get(posted.package)
    owner = app.label if app else posted.package
    frame = Rect(theme.MARGIN, top, WIDTH - theme.MARGIN, top + dp(92))
    left, right = frame.left + dp(60), frame.right - dp(52)
    badge = Rect(frame.left + dp(12), top + dp(26), frame.left + dp(50), top + dp(64))
    lines = []
    for number, (content, id_, size, weight, ink) in enumerate(
        (
            (owner, "app_name_text", theme.TINY, "Regular", theme.TEXT_SOFT),
            (posted.title, "android:id/title", theme.BODY, "Medium", theme.TEXT),
            (posted.text, "android:id/text", theme.SMALL, "Regular", theme.TEXT_SOFT),
        )
    ):
        y = top + dp(10) + number * dp(25)
        place = Rect(left, y, right, y + dp(25))
        lines.append(
            Node(
                place,
                "android.widget.TextView",
                content,
                id=id_,
                paint=(line_of(content, place, size, ink, weight),),
            )
        )
    close = Rect(right, top, frame.right, frame.bottom)
    return Node(
        frame,
        "android.widget.FrameLayout",
        id="expandableNotificationRow",
        tap=partial(open_notification, world, posted),
        paint=(Fill(theme.SURFACE, dp(18)),),
        children=(
            box(
                badge,
                Fill(app.colour if app else "#666A75", dp(19)),
                Icon(app.icon if app else "bell", dp(20), "#FFFFFF"),
            ),
            *lines,
            Node(
                close,
                "android.widget.ImageButton",
                desc="Dismiss",
                tap=partial(world.notifications.cancel, posted.key),
                paint=(Icon("close", dp(20), theme.TEXT_SOFT),),
            ),
        ),
    )


class PermissionController(Builtin):
    """Asks the person whether an app may do something; the answer is a grant."""

    package = PERMISSION_CONTROLLER
    label = "Permission controller"
    launcher = False

    def open(self, world: World, intent: Intent) -> Screen | None:
        return None

    def view(self, world: World, screen: Screen) -> Node:
        return Node(SCREEN)

    def dialog(self, world: World, screen: Screen) -> Node | None:
        app = world.apps[screen.args["package"]]

        def answer(allow: bool) -> None:
            world.packages.grant(app.package, screen.args["permission"], allow=allow)
            world.windows.prompt = None
            if allow and (then := screen.args.get("then")):
                world.windows.launch(Intent(**then))

        return dialog(
            f"Allow {app.label} to {screen.args['what']}?",
            buttons=(
                Button("Don't allow", partial(answer, False), "permission_deny_button", "soft"),
                Button("Allow", partial(answer, True), "permission_allow_button"),
            ),
        )


def permitted(
    world: World, package: str, permission: str, what: str, then: Intent | None = None
) -> bool:
    """Whether the app may; where it may not yet, the person is being asked now, and a yes goes
    on to `then`."""
    installed = world.packages.get(package)
    if installed is None or permission in installed.granted:
        return True
    args: dict[str, Json] = {"package": package, "permission": permission, "what": what}
    if then is not None:
        args["then"] = asdict(then)
    world.windows.prompt = (PERMISSION_CONTROLLER, Screen(".GrantPermissionsActivity", args))
    return False
