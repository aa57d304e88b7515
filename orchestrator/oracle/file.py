"""The oracle on a file of the phone: its existence and content, JSON values included."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Generator, Mapping
from typing import Any

from ..cases.oracles import FileIs, Scalar
from ..device.faults import DeviceFault
from ..device.files import app_of_path
from ..events.canonical import Json
from .oracle import Decision, Inquiry, Oracle, Query, Raw, shell

READ_S = 30.0
_ABSENT = ("No such file or directory", "Not a directory")


class FileOracle(Oracle[FileIs]):
    notes = ("the file's bytes, read whole; what an app shows of it is not asked",)

    @property
    def depends_on(self) -> tuple[str, ...]:
        return app_of_path(self.asked.path)

    @property
    def tentative(self) -> bool:
        return not self.asked.exists

    @property
    def _inside(self) -> bool:
        """Whether the question asks for more than existence."""
        asked = self.asked
        content = (asked.text, asked.contains, asked.sha256, asked.json_)
        return asked.exists and any(part is not None for part in content)

    def inquire(self) -> Inquiry:
        asked = self.asked
        what = yield from kind_of_file(asked.path, root=asked.root)
        facts = {"exists": what is not None, "directory": what == "directory"}
        if what is None or not self._inside or what == "directory":
            return facts
        read = yield from shell("file_read", "cat", asked.path, root=asked.root, seconds=READ_S)
        if not read.ok:
            raise DeviceFault("command_failed", read.error_text.strip(), during=read.command)
        return {**facts, **self._content(read.stdout)}

    def _content(self, data: bytes) -> dict[str, Json]:
        """Only what the question asks for: the rest of the file may differ between two phones."""
        asked = self.asked
        found: dict[str, Json] = {}
        if asked.text is not None or asked.sha256 is not None:
            found["sha256"] = hashlib.sha256(data).hexdigest()
        if asked.contains is not None:
            found["contains"] = asked.contains.encode() in data
        if asked.json_ is not None:
            found["json"] = json_facts(data, asked.json_)
        return found

    def decide(self, facts: Json) -> Decision:
        asked, path = self.asked, self.asked.path
        if not facts["exists"]:
            return Decision(not asked.exists, f"{path} is not there")
        if not asked.exists:
            return Decision(False, f"{path} is there")
        if self._inside and facts["directory"]:
            return Decision(False, f"{path} is a folder")
        wrong = [name for name, right in self._compared(facts).items() if not right]
        text = f"has another {', '.join(wrong)}" if wrong else "is as wanted"
        return Decision(not wrong, f"{path} {text}")

    def _compared(self, facts: Json) -> dict[str, bool]:
        asked, compared = self.asked, {}
        if asked.text is not None:
            digest = hashlib.sha256(asked.text.encode()).hexdigest()
            compared["text"] = facts["sha256"] == digest
        if asked.sha256 is not None:
            compared["sha256"] = facts["sha256"] == asked.sha256
        if asked.contains is not None:
            compared["content"] = facts["contains"]
        for path, value in (asked.json_ or {}).items():
            compared[path] = facts["json"] is not None and same(facts["json"][path], value)
        return compared


def kind_of_file(path: str, *, root: bool) -> Generator[Query, Raw, str | None]:
    """`regular file`, `directory`, ...; None if it does not exist."""
    # Not `test -e`, which also fails if access is denied.
    stat = yield from shell("file_stat", "stat", "-L", "-c", "%F", path, root=root)
    if stat.ok:
        return stat.text.strip()
    if stat.exit_code == 1 and any(text in stat.error_text for text in _ABSENT):
        return None
    text = f"exit code {stat.exit_code}: {stat.error_text.strip()}"
    raise DeviceFault("command_failed", text, during=stat.command)


def json_facts(data: bytes | str, paths: Mapping[str, Scalar]) -> dict[str, Json] | None:
    """By dotted path a list of its plain value, empty if it has none; None if it is not JSON."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return {path: _at(document, path) for path in paths}


def same(found: list[Scalar], wanted: Scalar) -> bool:
    """Equality that distinguishes 1 from true."""
    return found == [wanted] and isinstance(found[0], bool) == isinstance(wanted, bool)


def _at(document: Any, path: str) -> list[Scalar]:
    for part in path.split("."):
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list) and part.isdecimal() and int(part) < len(document):
            document = document[int(part)]
        else:
            return []
    plain = document is None or isinstance(document, str | int | float)
    finite = not isinstance(document, float) or math.isfinite(document)
    return [document] if plain and finite else []
