"""The Settings app."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ..ui import theme
from ..ui.node import Node
from ..ui.scaffold import dialog, page
from ..ui.screen import Intent, Screen
from ..ui.widgets import Button, Piece, divider, field, header, row, text
from .builtin import Builtin
from .installer import MANAGE_SOURCES, UNKNOWN_SOURCES
from .settings_page import subpage, switch_row
from .settings_system import about, developer, rename_device, system

if TYPE_CHECKING:
    from ..world import World

NETWORKS = (("AndroidWifi", "Connected"), ("Cafe Guest", "Saved"), ("Home-5G", "Secured"))
# The sub-screens, by the action that `am start -a` knows them by.
ACTIONS = {
    "android.settings.SETTINGS": ".Settings",
    "android.settings.WIFI_SETTINGS": ".WifiSettingsActivity",
    "android.settings.BLUETOOTH_SETTINGS": ".BluetoothSettingsActivity",
    "android.settings.AIRPLANE_MODE_SETTINGS": ".NetworkSettingsActivity",
    "android.settings.WIRELESS_SETTINGS": ".NetworkSettingsActivity",
    "android.settings.DISPLAY_SETTINGS": ".DisplaySettingsActivity",
    "android.settings.SOUND_SETTINGS": ".SoundSettingsActivity",
    MANAGE_SOURCES: ".UnknownSourcesActivity",
    "android.settings.SECURITY_SETTINGS": ".SecuritySettingsActivity",
    "android.settings.APPLICATION_SETTINGS": ".AppsSettingsActivity",
    "android.settings.APPLICATION_DEVELOPMENT_SETTINGS": ".DevelopmentSettingsDashboardActivity",
    "android.settings.DEVICE_INFO_SETTINGS": ".AboutPhoneActivity",
}


class SettingsApp(Builtin):
    package = "com.android.settings"
    label = "Settings"
    icon = "cog"
    colour = "#5B6270"
    main = ".Settings"

    def open(self, world: World, intent: Intent) -> Screen | None:
        if intent.package not in ("", self.package):
            return None
        if intent.action in ACTIONS:
            return Screen(ACTIONS[intent.action])
        for activity in VIEWS:
            if intent.activity in self.names(activity):
                return Screen(activity)
        return super().open(world, intent)

    def view(self, world: World, screen: Screen) -> Node:
        return VIEWS[screen.activity](world, screen)

    def dialog(self, world: World, screen: Screen) -> Node | None:
        if screen.dialog and screen.dialog["kind"] == "unknown_sources":
            return confirm_unknown_sources(world, screen)
        if screen.dialog and screen.dialog["kind"] == "device_name":
            return rename_device(world, screen)
        return None


def plain(words: str) -> str:
    """As one searches: "wifi" finds Wi-Fi."""
    return "".join(letter for letter in words.lower() if letter.isalnum())


def main(world: World, screen: Screen) -> Node:
    def entry(title: str, subtitle: str, icon: str, colour: str, activity: str) -> Piece:
        go = partial(world.windows.push, Screen(activity))
        return row(title, subtitle, icon=icon, avatar=colour, tap=go)

    settings = world.settings
    query = plain(screen.fields.get("search", ""))
    entries = (
        (
            "Network & internet",
            "Wi-Fi, mobile, airplane mode",
            "wifi",
            "#3B7DD8",
            ".NetworkSettingsActivity",
        ),
        (
            "Connected devices",
            "Bluetooth" + (" on" if settings.on("global", "bluetooth_on") else " off"),
            "bluetooth",
            "#3F6FB5",
            ".BluetoothSettingsActivity",
        ),
        (
            "Apps",
            f"{len(world.packages.all())} apps installed",
            "apps",
            "#7A5AB8",
            ".AppsSettingsActivity",
        ),
        (
            "Sound & vibration",
            "Volume, ringtone",
            "volume_high",
            "#B8604E",
            ".SoundSettingsActivity",
        ),
        (
            "Display",
            "Dark theme, font size, brightness",
            "brightness_6",
            "#C07A2B",
            ".DisplaySettingsActivity",
        ),
        (
            "Security & privacy",
            "App security, install unknown apps",
            "shield_check_outline",
            "#3C8A5A",
            ".SecuritySettingsActivity",
        ),
        (
            "System",
            "Languages, date & time, developer options",
            "information_outline",
            "#6B7280",
            ".SystemSettingsActivity",
        ),
        (
            "About emulated device",
            settings.get("global", "device_name") or "sdk_gphone64_x86_64",
            "cellphone",
            "#4B5563",
            ".AboutPhoneActivity",
        ),
    )
    pieces: list[Piece] = [field(screen, "search", "Search settings", id="search_bar")]
    pieces += [entry(*e) for e in entries if query in plain(e[0] + e[1])]
    return page(screen, "Settings", pieces)


def network(world: World, screen: Screen) -> Node:
    wifi = world.settings.on("global", "wifi_on")
    go = partial(world.windows.push, Screen(".WifiSettingsActivity"))
    return subpage(
        world,
        screen,
        "Network & internet",
        [
            row(
                "Internet",
                "AndroidWifi" if wifi else "Wi-Fi off",
                icon="wifi" if wifi else "wifi_off",
                tap=go,
            ),
            row("SIMs", "T-Mobile", icon="sim"),
            switch_row(world, "global", "airplane_mode_on", "Airplane mode", icon="airplane"),
            switch_row(world, "global", "mobile_data", "Mobile data", icon="signal"),
        ],
    )


def wifi(world: World, screen: Screen) -> Node:
    pieces: list[Piece] = [switch_row(world, "global", "wifi_on", "Use Wi-Fi")]
    if world.settings.on("global", "wifi_on"):
        pieces.append(header("Available networks"))
        pieces += [row(name, state, icon="wifi") for name, state in NETWORKS]
    else:
        pieces.append(text("To see available networks, turn Wi-Fi on.", colour=theme.TEXT_SOFT))
    return subpage(world, screen, "Wi-Fi", pieces)


def bluetooth(world: World, screen: Screen) -> Node:
    pieces: list[Piece] = [switch_row(world, "global", "bluetooth_on", "Use Bluetooth")]
    if world.settings.on("global", "bluetooth_on"):
        pieces += [header("Saved devices"), row("Car audio", "Not connected", icon="bluetooth")]
    return subpage(world, screen, "Bluetooth", pieces)


def display(world: World, screen: Screen) -> Node:
    level = int(world.settings.get("system", "screen_brightness") or 102)

    def shift(step: int) -> None:
        world.settings.put("system", "screen_brightness", str(max(1, min(255, level + step))))

    scale = world.settings.get("system", "font_scale") or "1.0"

    def resize() -> None:
        sizes = ["0.85", "1.0", "1.15", "1.3"]
        following = sizes[(sizes.index(scale) + 1) % 4] if scale in sizes else "1.0"
        world.settings.put("system", "font_scale", following)

    return subpage(
        world,
        screen,
        "Display",
        [
            header("Brightness"),
            row("Brightness level", f"{round(level / 255 * 100)} %", icon="brightness_6"),
            row("Brighter", icon="plus", tap=partial(shift, 25)),
            row("Dimmer", icon="minus", tap=partial(shift, -25)),
            divider(),
            switch_row(world, "system", "screen_brightness_mode", "Adaptive brightness"),
            switch_row(world, "secure", "ui_night_mode", "Dark theme", values=("1", "2")),
            switch_row(world, "system", "accelerometer_rotation", "Auto-rotate screen"),
            row("Font size", f"{scale} ×", icon="format_size", tap=resize),
        ],
    )


def sound(world: World, screen: Screen) -> Node:
    return subpage(
        world,
        screen,
        "Sound & vibration",
        [
            switch_row(world, "system", "vibrate_when_ringing", "Vibrate for calls"),
            switch_row(world, "global", "zen_mode", "Do Not Disturb"),
            switch_row(world, "system", "sound_effects_enabled", "Touch sounds"),
        ],
    )


def security(world: World, screen: Screen) -> Node:
    go = partial(world.windows.push, Screen(".UnknownSourcesActivity"))
    allowed = world.settings.on("secure", UNKNOWN_SOURCES)
    return subpage(
        world,
        screen,
        "Security & privacy",
        [
            row("Screen lock", "None", icon="lock"),
            row(
                "Install unknown apps",
                "Allowed" if allowed else "Not allowed",
                icon="download",
                tap=go,
            ),
            switch_row(
                world,
                "secure",
                "location_mode",
                "Use location",
                icon="map_marker_outline",
                values=("0", "3"),
            ),
        ],
    )


def unknown_sources(world: World, screen: Screen) -> Node:
    on = world.settings.on("secure", UNKNOWN_SOURCES)

    def flip() -> None:
        if on:
            world.settings.put("secure", UNKNOWN_SOURCES, "0")
        else:
            screen.dialog = {"kind": "unknown_sources"}

    return subpage(
        world,
        screen,
        "Install unknown apps",
        [
            row("Allow from this source", on=on, tap=flip, id=UNKNOWN_SOURCES),
            text(
                "Your phone and personal data are more vulnerable to attack by unknown apps. "
                "By installing apps from this source, you accept responsibility for any damage.",
                colour=theme.TEXT_SOFT,
                size=theme.SMALL,
            ),
        ],
    )


def confirm_unknown_sources(world: World, screen: Screen) -> Node:
    def answer(allow: bool) -> None:
        screen.dialog = None
        if allow:
            world.settings.put("secure", UNKNOWN_SOURCES, "1")

    return dialog(
        "Allow unknown apps?",
        "Apps from outside the store can harm your phone and your data.",
        buttons=(
            Button("Cancel", partial(answer, False), "android:id/button2", "plain"),
            Button("Allow", partial(answer, True), "android:id/button1", "plain"),
        ),
    )


def applications(world: World, screen: Screen) -> Node:
    pieces: list[Piece] = []
    for package in world.packages.all():
        app = world.apps.get(package.name)
        look = {"icon": app.icon, "avatar": app.colour} if app else {"icon": "android"}
        pieces.append(row(app.label if app else package.name, package.version_name, **look))  # type: ignore[arg-type]
    return subpage(world, screen, "Apps", pieces)


VIEWS: dict[str, Callable[[World, Screen], Node]] = {
    ".Settings": main,
    ".NetworkSettingsActivity": network,
    ".WifiSettingsActivity": wifi,
    ".BluetoothSettingsActivity": bluetooth,
    ".DisplaySettingsActivity": display,
    ".SoundSettingsActivity": sound,
    ".SecuritySettingsActivity": security,
    ".UnknownSourcesActivity": unknown_sources,
    ".AppsSettingsActivity": applications,
    ".SystemSettingsActivity": system,
    ".DevelopmentSettingsDashboardActivity": developer,
    ".AboutPhoneActivity": about,
}
