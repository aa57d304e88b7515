"""The Settings app's pages about the phone itself: System, Developer options, About."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..services.settings import ADB_ENABLED
from ..ui import theme
from ..ui.node import Node, dp
from ..ui.scaffold import dialog
from ..ui.screen import Screen
from ..ui.widgets import Button, field, header, row, space, text
from .settings_page import subpage, switch_row

if TYPE_CHECKING:
    from ..world import World

DEVELOPER = "development_settings_enabled"


def system(world: World, screen: Screen) -> Node:
    go = partial(world.windows.push, Screen(".DevelopmentSettingsDashboardActivity"))
    return subpage(
        world,
        screen,
        "System",
        [
            row("Languages & input", "English (United States)", icon="translate"),
            switch_row(
                world, "global", "auto_time", "Set time automatically", icon="clock_outline"
            ),
            row("Time zone", "GMT+00:00 Coordinated Universal Time", icon="earth"),
            row("Developer options", icon="cog", tap=go),
        ],
    )


def developer(world: World, screen: Screen) -> Node:
    settings = world.settings
    on = settings.on("global", DEVELOPER)

    def flip() -> None:
        settings.put("global", DEVELOPER, "0" if on else "1")
        if on:
            settings.put("global", ADB_ENABLED, "0")  # it takes what it offers with it

    pieces = [row("Use developer options", on=on, tap=flip, id=DEVELOPER)]
    if on:
        pieces += [
            header("Debugging"),
            switch_row(world, "global", ADB_ENABLED, "USB debugging"),
            text("Debug mode when USB is connected", colour=theme.TEXT_SOFT, size=theme.SMALL),
        ]
    return subpage(world, screen, "Developer options", pieces)


def about(world: World, screen: Screen) -> Node:
    properties = world.properties

    def rename() -> None:
        screen.dialog = {"kind": "device_name"}
        screen.fields["device_name"] = world.settings.get("global", "device_name") or ""

    return subpage(
        world,
        screen,
        "About emulated device",
        [
            row("Device name", world.settings.get("global", "device_name") or "Phone", tap=rename),
            row("Phone number", "+1 555-521-5554"),
            row("Model", properties.get("ro.product.model")),
            row("Android version", properties.get("ro.build.version.release")),
            row("Build number", properties.get("ro.build.display.id"), most=3),
            row("Up time", f"{int(world.clock.uptime()) // 60} min"),
            space(dp(8)),
        ],
    )


def rename_device(world: World, screen: Screen) -> Node:
    def close(save: bool) -> None:
        name = screen.fields.pop("device_name", "").strip()
        if save and name:
            world.settings.put("global", "device_name", name)
        screen.dialog, screen.focus = None, ""

    return dialog(
        "Device name",
        pieces=[field(screen, "device_name", "Device name", id="android:id/edit")],
        buttons=(
            Button("Cancel", partial(close, False), "android:id/button2", "plain"),
            Button("OK", partial(close, True), "android:id/button1", "plain"),
        ),
        keyboard=bool(screen.focus),
    )
