"""What is in a file of the phone?"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..cases.model import FileIs, Scalar
from ..device.faults import DeviceFault
from ..device.phone import Device
from ..events.canonical import Json
from .oracle import Context, Decision, Query, Reading
from .shell import NEEDS_ROOT, NEEDS_SHELL, ShellQuestion

READ_S = 30.0
_ABSENT = ("No such file or directory", "Not a directory")


@dataclass(frozen=True)
class File:
    name: str
    asked: FileIs
    settle: float | None = None
    kind: str = "file"
    notes: tuple[str, ...] = ("the file's bytes, read whole; what an app shows of it is not asked",)

    @property
    def needs(self) -> tuple[str, ...]:
        return NEEDS_ROOT if self.asked.root else NEEDS_SHELL

    @property
    def tentative(self) -> bool:
        return not self.asked.exists

    @property
    def _inside(self) -> bool:
        """Whether more than its being there is asked for."""
        asked = self.asked
        return asked.exists and (asked.text, asked.contains, asked.sha256, asked.json_) != (
            None, None, None, None,
        )  # fmt: skip

    @property
    def _read(self) -> ShellQuestion:
        return ShellQuestion("file_read", ("cat", self.asked.path), self.asked.root, READ_S)

    def queries(self, context: Context) -> tuple[Query, ...]:
        stat = stat_question(self.asked.path, root=self.asked.root).query
        return (stat, self._read.query) if self._inside else (stat,)

    def ask(self, context: Context) -> Reading:
        device, asked = context.device, self.asked
        what = kind_of_file(device, asked.path, root=asked.root)
        if what is None or not self._inside or what == "directory":
            facts = {"exists": what is not None, "directory": what == "directory"}
            return Reading(self.queries(context)[:1], what or "absent", facts)
        result = self._read.result(device)
        if not result.ok:
            raise DeviceFault("command_failed", result.error_text.strip(), during=result.command)
        return Reading(self.queries(context), result.text, self._facts(result.stdout))

    def _facts(self, data: bytes) -> dict[str, Json]:
        """Only of what is asked: the rest of the file may differ between two phones."""
        asked, facts = self.asked, {"exists": True, "directory": False}
        found: dict[str, Json] = {}
        if asked.text is not None or asked.sha256 is not None:
            found["sha256"] = hashlib.sha256(data).hexdigest()
        if asked.contains is not None:
            found["contains"] = asked.contains.encode() in data
        if asked.json_ is not None:
            found["json"] = _json_facts(data, asked.json_)
        return {**facts, **found}

    def decide(self, facts: Json) -> Decision:
        asked, path = self.asked, self.asked.path
        if not facts["exists"]:
            return Decision(not asked.exists, f"{path} is not there")
        if not asked.exists:
            return Decision(False, f"{path} is there")
        if self._inside and facts["directory"]:
            return Decision(False, f"{path} is a folder")
        wrong = [name for name, right in self._compared(facts).items() if not right]
        return Decision(
            not wrong, f"{path} has another {', '.join(wrong)}" if wrong else f"{path} is as wanted"
        )

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
            compared[path] = facts["json"] is not None and _same(facts["json"][path], value)
        return compared


def stat_question(path: str, *, root: bool) -> ShellQuestion:
    return ShellQuestion("file_stat", ("stat", "-L", "-c", "%F", path), root)


def kind_of_file(device: Device, path: str, *, root: bool) -> str | None:
    """`regular file`, `directory`, ...; None where it is not there.

    Not `test -e`: that says no as well where it may not look.
    """
    result = stat_question(path, root=root).result(device)
    if result.ok:
        return result.text.strip()
    if result.exit_code == 1 and any(words in result.error_text for words in _ABSENT):
        return None
    text = f"exit code {result.exit_code}: {result.error_text.strip()}"
    raise DeviceFault("command_failed", text, during=result.command)


def _json_facts(data: bytes, paths: Mapping[str, Any]) -> dict[str, Json] | None:
    """Each path's value in a list of one, an empty list where there is no plain one; None: not
    JSON."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return {path: _at(document, path) for path in paths}


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


def _same(found: list[Scalar], wanted: Scalar) -> bool:
    """Equal, and 1 is not true."""
    return found == [wanted] and isinstance(found[0], bool) == isinstance(wanted, bool)
