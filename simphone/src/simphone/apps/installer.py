"""The package installer: asks before an APK from outside the store is installed.

A screen's args: `path`, and once Install was tapped `working` (a background task's id) until
`outcome` says how it went. A snapshot that caught an install under way shows it as not done.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .. import apk
from ..programs import sessions
from ..programs.opening import FileSource
from ..ui import theme
from ..ui.node import Node, dp
from ..ui.scaffold import page
from ..ui.screen import Intent, Screen
from ..ui.widgets import Button, Piece, bar, row, space, text
from . import file_kinds
from .builtin import VIEW, Builtin
from .opening import path_of

if TYPE_CHECKING:
    from ..world import World

PACKAGE = "com.android.packageinstaller"
ACTIVITY = ".PackageInstallerActivity"
UNKNOWN_SOURCES = "install_non_market_apps"
MANAGE_SOURCES = "android.settings.MANAGE_UNKNOWN_APP_SOURCES"
DONE = "App installed."
NOT_DONE = "App not installed."
NO_PACKAGE = "Not a package"


async def install_apk(world: World, path: str) -> str:
    """Installs from a guest path, as `pm install` does; returns the package's name.

    OSError or InstallFailed where it cannot be.
    """
    installed = world.packages.get(PACKAGE)
    source = FileSource(world.disk.open(path, installed.uid if installed else 10000))
    session = sessions.create(world, sessions.Wishes(installer=PACKAGE))
    try:
        await sessions.stage(world, session, "base.apk", source, None)
        package = await sessions.commit(world, session)
    finally:
        source.close()
        sessions.abandon(world, session)
    world.windows.stop_package(package.name)
    return package.name


class PackageInstaller(Builtin):
    package = PACKAGE
    label = "Package installer"
    icon = "android"
    colour = "#3C8A5A"
    launcher = False

    def open(self, world: World, intent: Intent) -> Screen | None:
        path = path_of(intent.data)
        if intent.action != VIEW or not path or intent.package not in ("", self.package):
            return None
        return Screen(ACTIVITY, {"path": path}) if file_kinds.kind(path) == "apk" else None

    def view(self, world: World, screen: Screen) -> Node:
        name = file_kinds.shown(screen.args["path"].rpartition("/")[2])
        pieces: list[Piece] = [
            row(name, package_line(world, screen), icon="android", avatar=self.colour),
            space(dp(8)),
        ]
        return page(screen, "Package installer", [*pieces, *question(world, screen)])


def package_line(world: World, screen: Screen) -> str:
    """What the file says it is."""
    try:
        manifest = apk.read(world.disk.readable(screen.args["path"], 10000))
    except (apk.BadApk, OSError):
        return NO_PACKAGE
    return f"{manifest.package} {manifest.version_name}".strip()


def question(world: World, screen: Screen) -> list[Piece]:
    args = screen.args
    if "outcome" in args:
        close = Button("Done", world.windows.finish, "done_button", "plain")
        return [text(args["outcome"]), bar(close)]
    if world.background.running(args.get("working")):
        return [text("Installing…", colour=theme.TEXT_SOFT)]
    if "working" in args:
        close = Button("Done", world.windows.finish, "done_button", "plain")
        return [text(NOT_DONE), bar(close)]
    if package_line(world, screen) == NO_PACKAGE:
        close = Button("OK", world.windows.finish, "ok_button", "plain")
        return [text("There was a problem parsing the package."), bar(close)]
    cancel = Button("Cancel", world.windows.finish, "cancel_button", "plain")
    if not world.settings.on("secure", UNKNOWN_SOURCES):
        go = partial(world.windows.launch, Intent(MANAGE_SOURCES))
        return [
            text("For your security, your phone currently isn’t allowed to install unknown apps "
                 "from this source. You can change this in Settings."),
            bar(cancel, Button("Settings", go, "settings_button", "plain")),
        ]  # fmt: skip

    def install() -> None:
        args["working"] = world.background.start(work(world, screen))

    return [
        text("Do you want to install this app?"),
        bar(cancel, Button("Install", install, "ok_button", "plain")),
    ]


async def work(world: World, screen: Screen) -> None:
    try:
        name = await install_apk(world, screen.args["path"])
        outcome = DONE
        world.logcat.write("PackageInstaller", f"installed {name}")
    except (OSError, sessions.InstallFailed) as error:
        outcome = NOT_DONE
        world.logcat.write("PackageInstaller", f"install failed: {error}", level="E")
    screen.args["outcome"] = outcome
    world.windows.moved()
