"""What built-in apps have in common: they start at a main screen and need little else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ui.node import Node
from ..ui.screen import Intent, Screen

if TYPE_CHECKING:
    from ..world import World

MAIN = "android.intent.action.MAIN"
VIEW = "android.intent.action.VIEW"


class Builtin:
    """Defaults of an app that opens its main screen and shows no dialogs."""

    package = ""
    label = ""
    icon = "android"
    colour = "#3B5BA9"
    permissions: tuple[str, ...] = ()
    launcher = True
    main = ".MainActivity"

    def create(self, world: World) -> None:
        return None

    def open(self, world: World, intent: Intent) -> Screen | None:
        """Its main screen, when asked for by package."""
        mine = intent.package == self.package and intent.action in ("", MAIN)
        return (
            Screen(self.main) if mine and intent.activity in ("", *self.names(self.main)) else None
        )

    def arrived(self, world: World, screen: Screen) -> None:
        return None

    def resumed(self, world: World, screen: Screen) -> None:
        return None

    def paused(self, world: World, screen: Screen) -> None:
        return None

    def names(self, activity: str) -> tuple[str, str]:
        """The two spellings of an activity's class."""
        return activity, self.package + activity

    def dialog(self, world: World, screen: Screen) -> Node | None:
        return None
