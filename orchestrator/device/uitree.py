"""The elements on screen, from `uiautomator dump`.

The program waits for an idle screen and refuses an animated one, which an app can cause at will. A
missing tree is therefore a reading with a warning, and the screenshot suffices.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_type_hints
from xml.etree import ElementTree

from .deadline import Deadline
from .faults import DeviceFault
from .shell import Shell

# Output without a tree: the terminal could not be opened, or was another (spelled as printed).
_NO_TERMINAL = ("ENXIO", "/dev/tty: open failed", "UI hierchary dumped to")
# The file is named by the shell's pid, because another thread may dump at the same time.
_BY_FILE = "f=/data/local/tmp/emufarm-$$.xml; uiautomator dump $f; cat $f; rm -f $f"
_BOUNDS = re.compile(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]")


@dataclass(frozen=True)
class Bounds:
    left: int
    top: int
    right: int
    bottom: int

    @property
    def center(self) -> tuple[int, int]:
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2

    @property
    def empty(self) -> bool:
        return self.right <= self.left or self.bottom <= self.top


@dataclass(frozen=True)
class Element:
    """One node, in document order; `depth` gives the tree structure."""

    depth: int
    text: str
    description: str
    resource_id: str
    class_name: str
    package: str
    bounds: Bounds
    clickable: bool
    long_clickable: bool
    scrollable: bool
    checkable: bool
    checked: bool
    enabled: bool
    focused: bool
    selected: bool
    password: bool


_FLAGS = tuple(name for name, kind in get_type_hints(Element).items() if kind is bool)


@dataclass(frozen=True)
class TreeReading:
    """Elements and their XML; both are None, with a warning, if the phone gave no tree."""

    elements: tuple[Element, ...] | None
    xml: str | None
    warning: str | None


def extract_xml(text: str) -> str | None:
    """The XML document in the dump's output; the closing message follows without a newline."""
    start, end = text.find("<?xml"), text.rfind("</hierarchy>")
    if start < 0:
        start = text.find("<hierarchy")
    empty = re.search(r"<hierarchy[^>]*/>", text)
    if start >= 0 and end > start:
        return text[start : end + len("</hierarchy>")]
    return text[start : empty.end()] if start >= 0 and empty else None


def parse_tree(xml: str) -> tuple[Element, ...]:
    """Every node of the hierarchy. A malformed hierarchy is a fault."""
    if "<!DOCTYPE" in xml or "<!ENTITY" in xml:
        raise DeviceFault("no_ui_tree", "a hierarchy may have no document type")
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise DeviceFault("no_ui_tree", f"not XML: {error}") from error
    elements: list[Element] = []
    pending = [(child, 0) for child in reversed(root)]
    while pending:
        node, depth = pending.pop()
        elements.append(_element(node, depth))
        pending += [(child, depth + 1) for child in reversed(node)]
    return tuple(elements)


def _element(node: ElementTree.Element, depth: int) -> Element:
    bounds = _BOUNDS.fullmatch(node.get("bounds", ""))
    if bounds is None:
        raise DeviceFault("no_ui_tree", f"not bounds: {node.get('bounds')!r}")
    left, top, right, bottom = (int(number) for number in bounds.groups())
    flags = {name: node.get(name.replace("_", "-")) == "true" for name in _FLAGS}
    return Element(
        depth=depth,
        text=node.get("text", ""),
        description=node.get("content-desc", ""),
        resource_id=node.get("resource-id", ""),
        class_name=node.get("class", ""),
        package=node.get("package", ""),
        bounds=Bounds(left, top, right, bottom),
        **flags,
    )


def read_tree(shell: Shell, *, tries: int, timeout: float) -> TreeReading:
    """Dumps at most `tries` times within the time-out; a lost phone is a fault as in any call."""
    deadline, warning = Deadline(timeout), "not tried"
    for _ in range(tries):
        try:
            output = _dump(shell, deadline)
            xml = extract_xml(output)
            if xml is not None:
                return TreeReading(parse_tree(xml), xml, None)
            warning = " ".join(output.split())[:300] or "uiautomator printed nothing"
        except DeviceFault as fault:
            if fault.reason not in ("timeout", "no_ui_tree"):
                raise
            warning = str(fault)
        if deadline.passed:
            break
    return TreeReading(None, None, f"no tree in {tries} tries: {warning}")


def _dump(shell: Shell, deadline: Deadline) -> str:
    """The dump's whole output; goes through a file if there is no terminal to dump to."""
    result = shell.run("uiautomator", "dump", "/dev/tty", timeout=deadline.share())
    output = f"{result.text}\n{result.error_text}"
    if extract_xml(output) is None and any(text in output for text in _NO_TERMINAL):
        result = shell.run("sh", "-c", _BY_FILE, timeout=deadline.share())
        output = f"{result.text}\n{result.error_text}"
    return output
