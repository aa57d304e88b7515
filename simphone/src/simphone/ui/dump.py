"""The tree as `uiautomator dump` writes it."""

from __future__ import annotations

import re
from xml.sax.saxutils import quoteattr

from .node import Node

# Characters XML 1.0 cannot carry; uiautomator writes a full stop for each.
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def attribute(value: str) -> str:
    return quoteattr(UNWRITABLE.sub(".", value), {'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def flag(value: object) -> str:
    return "true" if value else "false"


def resource_id(node: Node, package: str) -> str:
    if not node.id or ":" in node.id:
        return node.id
    return f"{package}:id/{node.id}"


def element(node: Node, package: str, index: int) -> list[str]:
    left, top, right, bottom = node.bounds
    attributes = {
        "index": str(index),
        "text": node.text,
        "resource-id": resource_id(node, package),
        "class": node.kind,
        "package": package,
        "content-desc": node.desc,
        "checkable": flag(node.checked is not None),
        "checked": flag(node.checked),
        "clickable": flag(node.clickable),
        "enabled": flag(node.enabled),
        "focusable": flag(node.clickable),
        "focused": flag(node.focused),
        "scrollable": flag(node.scrolls and node.reach),
        "long-clickable": flag(node.hold),
        "password": flag(node.password),
        "selected": flag(node.selected),
        "bounds": f"[{left},{top}][{right},{bottom}]",
    }
    head = "<node " + " ".join(f"{name}={attribute(v)}" for name, v in attributes.items())
    shown = [child for child in node.children if child.kind]
    if not shown:
        return [head + " />"]
    inner = [line for i, child in enumerate(shown) for line in element(child, package, i)]
    return [head + ">", *inner, "</node>"]


def hierarchy(root: Node, package: str) -> str:
    """The whole document, on one line as the real tool prints it."""
    body = "".join(element(root, package, 0))
    head = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
    return f'{head}<hierarchy rotation="0">{body}</hierarchy>'
