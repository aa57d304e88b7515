"""Reads, checks and renders the web site of a case (its `site/` folder).

A case carries its site as path -> base64. Text files are templates, as every string of the case.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from .mistakes import Mistake
from .templates import BadTemplate, Renderer, inspect, is_template, undefined

SITE = "site"
MAX_SITE = 5 << 20
RENDERED = frozenset({".html", ".htm", ".txt", ".json", ".css"})


def read_site(folder: Path) -> tuple[dict[str, str], list[Mistake]]:
    """Every file of a case's site, and the mistakes in them."""
    root = folder / SITE
    files: dict[str, str] = {}
    mistakes: list[Mistake] = []
    size = 0
    for path in sorted(path for path in root.rglob("*") if path.is_symlink() or path.is_file()):
        if path.is_symlink():
            mistakes.append(Mistake(path, 1, "this is a symbolic link; put the file itself here"))
            continue
        size += path.stat().st_size
        if size > MAX_SITE:
            text = f"the site is larger than {MAX_SITE >> 20} MB; make it smaller"
            return {}, [*mistakes, Mistake(root, 1, text)]
        key = path.relative_to(root).as_posix()
        files[key] = base64.b64encode(path.read_bytes()).decode("ascii")
    return files, mistakes


def site_uses(
    folder: Path, site: Mapping[str, str], known: Mapping[str, object]
) -> tuple[set[str], list[Mistake]]:
    """The names that the pages use, and a mistake for each that is not known."""
    used: set[str] = set()
    mistakes: list[Mistake] = []
    for key, data in site.items():
        path = folder / SITE / key
        if path.suffix not in RENDERED:
            continue
        try:
            text = base64.b64decode(data).decode()
            names = inspect(text) if is_template(text) else frozenset()
        except UnicodeDecodeError:
            mistakes.append(Mistake(path, 1, "not UTF-8; save the page as UTF-8"))
            continue
        except BadTemplate as error:
            mistakes.append(Mistake(path, 1, str(error)))
            continue
        used |= names
        if mistake := undefined(names, known):
            mistakes.append(Mistake(path, 1, mistake))
    return used, mistakes


def site_files(site: Mapping[str, str], renderer: Renderer) -> dict[str, bytes]:
    """The rendered files of the site: path below its root -> content."""
    files = {}
    for key, data in sorted(site.items()):
        content = base64.b64decode(data)
        if PurePosixPath(key).suffix in RENDERED:
            content = renderer.render(content.decode()).encode()
        files[key] = content
    return files
