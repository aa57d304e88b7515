"""Prints the index of modules: the path and first line of every module of orchestrator/.

With --write it replaces the index at the end of docs/architecture.md.
"""

from __future__ import annotations

import ast
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "orchestrator"
DOCUMENT = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- index of modules: begin (make index WRITE=1 writes it) -->\n```\n"
END = "```\n<!-- index of modules: end -->\n"


def first_line(source: Path) -> str:
    """The first line of a module's docstring; empty if it has none."""
    docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"), source)) or ""
    return docstring.partition("\n")[0]


def room(path: Path) -> str:
    return path.parts[0] if len(path.parts) > 1 else ""


def index() -> str:
    """One line for each module, in one aligned block for each room."""
    paths = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    paths.sort(key=room)
    blocks = []
    for _, members in groupby(paths, key=room):
        lines = {path.as_posix(): first_line(PACKAGE / path) for path in members}
        width = max(map(len, lines))
        blocks.append(
            "".join(f"{path:{width}}  {line}".rstrip() + "\n" for path, line in lines.items())
        )
    return "\n".join(blocks)


def main() -> None:
    if "--write" not in sys.argv[1:]:
        print(index(), end="")
        return
    document = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = document.partition(BEGIN)
    DOCUMENT.write_text(before + BEGIN + index() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
