"""An app's own small dialogs: are you sure, and which of these."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..ui import theme
from ..ui.node import Action, Node
from ..ui.scaffold import dialog
from ..ui.screen import Screen
from ..ui.widgets import Button, Piece, row, text


def _close_and(screen: Screen, deed: Action | None) -> None:
    screen.dialog = None
    if deed is not None:
        deed()


def confirm(screen: Screen, title: str, message: str, verb: str, deed: Action) -> Node:
    """Cancel, or do it."""
    return dialog(
        title,
        message,
        buttons=(
            Button("Cancel", partial(_close_and, screen, None), "android:id/button2", "plain"),
            Button(verb, partial(_close_and, screen, deed), "android:id/button1", "plain"),
        ),
    )


def tell(screen: Screen, title: str, message: str) -> Node:
    """Something to know; OK closes it."""
    close = partial(_close_and, screen, None)
    return dialog(title, message, buttons=(Button("OK", close, "android:id/button1", "plain"),))


def choose(screen: Screen, title: str, choices: Sequence[tuple[str, str, Action]]) -> Node:
    """One of several deeds: (icon, words, deed)."""
    pieces = [
        row(words, icon=icon, tap=partial(_close_and, screen, deed))
        for icon, words, deed in choices
    ]
    return dialog(title, pieces=pieces)


def error(words: str) -> list[Piece]:
    """What is wrong with what was typed; nothing where nothing is."""
    if not words:
        return []
    return [text(words, size=theme.SMALL, colour=theme.DANGER, weight="Medium", id="error")]
