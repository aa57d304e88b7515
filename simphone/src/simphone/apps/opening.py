"""A file is opened: which app answers to it?"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from ..providers.media import mime_of
from ..ui.screen import Intent
from .builtin import VIEW

if TYPE_CHECKING:
    from ..world import World

FILE = "file://"


def file_uri(path: str) -> str:
    """A guest path as a URI; names of any bytes survive."""
    return FILE + quote(path, errors="surrogateescape")


def path_of(uri: str) -> str:
    """The guest path of a file URI, empty for every other one."""
    if not uri.lower().startswith(FILE):
        return ""
    path = unquote(uri[len(FILE) :], errors="surrogateescape")
    return path if path.startswith("/") and "\0" not in path else ""


def open_file(world: World, path: str) -> bool:
    """Whether an app has come to show it."""
    intent = Intent(VIEW, data=file_uri(path), mime=mime_of(path))
    return world.windows.launch(intent) is not None
