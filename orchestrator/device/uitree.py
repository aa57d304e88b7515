"""Which elements are on screen? From `uiautomator dump`, where it answers.

It waits for an idle screen and refuses on animating ones, which an app can cause at will: no tree
is a reading with a warning, and the picture suffices.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

from .deadline import Deadline
from .faults import DeviceFault
from .shell import Shell

# Without a tree: the terminal could not be opened, or was another one (its own spelling).
_NO_TERMINAL = ("ENXIO", "/dev/tty: open failed", "UI hierchary dumped to")
# A file of its own, by the shell's pid: another thread may be looking too.
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
    """One node, in document order; `depth` tells the tree."""

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


@dataclass(frozen=True)
class TreeReading:
    """Elements and their XML; both None, and a warning, where the phone gave no tree."""

    elements: tuple[Element, ...] | None
    xml: str | None
    warning: str | None


def extract_xml(text: str) -> str | None:
    """The document in what the dump printed: it ends without a newline before the last words."""
    start, end = text.find("<?xml"), text.rfind("</hierarchy>")
    if start < 0:
        start = text.find("<hierarchy")
    empty = re.search(r"<hierarchy[^>]*/>", text)
    if start >= 0 and end > start:
        return text[start : end + len("</hierarchy>")]
    return text[start : empty.end()] if start >= 0 and empty else None


def parse_tree(xml: str) -> tuple[Element, ...]:
    """Every node of the hierarchy; a fault where it is not one."""
    if "<!DOCTYPE" in xml or "<!ENTITY" in xml:
        raise DeviceFault("no_ui_tree", "a hierarchy has no document type")
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise DeviceFault("no_ui_tree", f"not XML: {error}") from error
    elements: list[Element] = []
    waiting = [(child, 0) for child in reversed(root)]
    while waiting:
        node, depth = waiting.pop()
        elements.append(_element(node, depth))
        waiting += [(child, depth + 1) for child in reversed(node)]
    return tuple(elements)


def _element(node: ElementTree.Element, depth: int) -> Element:
    bounds = _BOUNDS.fullmatch(node.get("bounds", ""))
    if bounds is None:
        raise DeviceFault("no_ui_tree", f"not bounds: {node.get('bounds')!r}")
    left, top, right, bottom = (int(number) for number in bounds.groups())

    def flag(name: str) -> bool:
        return node.get(name) == "true"

    return Element(
        depth=depth,
        text=node.get("text", ""),
        description=node.get("content-desc", ""),
        resource_id=node.get("resource-id", ""),
        class_name=node.get("class", ""),
        package=node.get("package", ""),
        bounds=Bounds(left, top, right, bottom),
        clickable=flag("clickable"),
        long_clickable=flag("long-clickable"),
        scrollable=flag("scrollable"),
        checkable=flag("checkable"),
        checked=flag("checked"),
        enabled=flag("enabled"),
        focused=flag("focused"),
        selected=flag("selected"),
        password=flag("password"),
    )


def read_tree(shell: Shell, *, tries: int, timeout: float) -> TreeReading:
    """At most `tries` dumps in the time. What stops every call, as a lost phone, stays a fault."""
    deadline, warning = Deadline(timeout), "not tried"
    for _ in range(tries):
        try:
            said = _dump(shell, deadline)
            xml = extract_xml(said)
            if xml is not None:
                return TreeReading(parse_tree(xml), xml, None)
            warning = " ".join(said.split())[:300] or "uiautomator said nothing"
        except DeviceFault as fault:
            if fault.reason not in ("timeout", "no_ui_tree"):
                raise
            warning = str(fault)
        if deadline.passed:
            break
    return TreeReading(None, None, f"no tree in {tries} tries: {warning}")


def _dump(shell: Shell, deadline: Deadline) -> str:
    """Everything the dump said; through a file where there is no terminal to dump to."""
    result = shell.run("uiautomator", "dump", "/dev/tty", timeout=deadline.share())
    said = f"{result.text}\n{result.error_text}"
    if extract_xml(said) is None and any(words in said for words in _NO_TERMINAL):
        result = shell.run("sh", "-c", _BY_FILE, timeout=deadline.share())
        said = f"{result.text}\n{result.error_text}"
    return said
