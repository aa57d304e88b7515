"""Reads a YAML document and keeps the line number of every value in it.

Only safe types are read. Anchors are refused (a few lines of them can expand to gigabytes), and so
are repeated keys, deep nesting, very many values, and numbers that no other reader could read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

MAX_DEPTH = 20
MAX_VALUES = 10_000
MAX_NUMBER = 1 << 63
Location = tuple[str | int, ...]


class BadDocument(Exception):
    """The text is not a YAML document that we read; `line` and `text` say where and why."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line
        self.text = text


class _CaseYamlLoader(yaml.SafeLoader):
    depth = values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise BadDocument(line, "anchors and aliases are not supported; write the value itself")
        self.depth += 1
        self.values += 1
        if self.values > MAX_VALUES:
            raise BadDocument(line, f"more than {MAX_VALUES} values; make it smaller")
        if self.depth > MAX_DEPTH:
            raise BadDocument(line, f"nested more than {MAX_DEPTH} deep; write it flatter")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        line = node.start_mark.line + 1
        try:
            value: Any = super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            # A safe type refused the value: a date such as 2031-02-30, `!!int ""`.
            text = f"not YAML: {str(error)[:200]}; put such values in quotes"
            raise BadDocument(line, text) from error
        if isinstance(value, int) and not -MAX_NUMBER <= value < MAX_NUMBER:
            raise BadDocument(line, "a whole number of more than 63 bits; put it in quotes")
        return value


@dataclass(frozen=True)
class Document:
    """The data of a YAML file, and the node tree that knows its lines."""

    data: Any
    root: yaml.Node

    def line(self, location: Sequence[str | int]) -> int:
        """The line of this location, or of its innermost part that the file has."""
        return _walk(self.root, location)[1]

    def known(self, location: Sequence[str | int]) -> Location:
        """The location without the parts that the file does not have."""
        return _walk(self.root, location)[0]

    def scalars(self) -> Iterator[tuple[Location, str, int]]:
        """Every string value, with its location and line."""
        for location, node in self._nodes():
            if node.tag == "tag:yaml.org,2002:str":
                yield location, node.value, node.start_mark.line + 1

    def repeated(self) -> Iterator[tuple[str, int]]:
        """Keys that one mapping has twice, with the line of the second."""
        for _, node in self._nodes():
            seen: set[str | int] = set()
            for key, _, line in _children(node):
                if key in seen:
                    yield str(key), line
                seen.add(key)

    def _nodes(self) -> Iterator[tuple[Location, yaml.Node]]:
        waiting: list[tuple[Location, yaml.Node]] = [((), self.root)]
        while waiting:
            location, node = waiting.pop()
            yield location, node
            waiting += [((*location, key), child) for key, child, _ in _children(node)]


def read_document(text: str, what: str) -> Document:
    """Raises BadDocument where the text is not one YAML document of safe types. `what` is what an
    empty file should have been, such as "a case"."""
    try:
        loader = _CaseYamlLoader(text)
        root = loader.get_single_node()
        data = loader.construct_document(root) if root else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = " ".join(filter(None, (error.context, error.problem)))
        text = f"not YAML: {why}; check quotes, colons and indentation"
        raise BadDocument(mark.line + 1 if mark else 1, text) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadDocument(line, f"not YAML: {error.reason}; remove that character") from error
    if root is None:
        raise BadDocument(1, f"the file is empty; write {what}")
    return Document(data, root)


def _children(node: yaml.Node) -> list[tuple[str | int, yaml.Node, int]]:
    if isinstance(node, yaml.SequenceNode):
        return [(n, child, child.start_mark.line + 1) for n, child in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return [(str(key.value), child, key.start_mark.line + 1) for key, child in node.value]
    return []


def _walk(node: yaml.Node, location: Sequence[str | int]) -> tuple[Location, int]:
    line, known = node.start_mark.line + 1, []
    for part in location:
        for key, child, at in _children(node):
            if key == part:
                node, line = child, at
                known.append(part)
                break
    return tuple(known), line
