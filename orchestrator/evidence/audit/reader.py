"""Reads evidence files that anybody may have written: bounded, line by line, following no link.

What cannot be read becomes a finding, never an exception.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from .rules import Findings

LINE_LIMIT = 32 << 20  # an agent may answer with 10 MB in one line
LINES_LIMIT = 200_000
DOCUMENT_LIMIT = 64 << 20
FILES_LIMIT = 200_000  # in one folder of a bundle

Fields = dict[str, Any]


class _Refused(ValueError):
    """JSON that Python accepts and evidence may not contain."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule = rule


def parse(data: bytes) -> Any:
    """Parse strict JSON; raises ValueError or RecursionError."""
    return json.loads(
        data.decode("utf-8"), parse_constant=_constant, parse_float=_float, object_pairs_hook=_pairs
    )


def _constant(text: str) -> Any:
    raise _Refused("not_finite", f"{text} is not a number")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Refused("not_finite", f"{text[:40]} is too large for a number")
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> Fields:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Refused("key_twice", "an object has a key twice")
    return found


class EvidenceFolder:
    """One folder of evidence; problems with its files are added to `findings`."""

    def __init__(self, path: Path, findings: Findings) -> None:
        self.path = path
        self.findings = findings

    def exists(self, name: str) -> bool:
        return os.path.lexists(self.path / name)

    def read(self, name: str, count: int) -> bytes | None:
        """The first bytes of a file; None and a finding if it cannot be read."""
        opened = self._open(name)
        if opened is None:
            return None
        with opened as file:
            return file.read(count)

    def document(self, name: str) -> Fields | None:
        """The object in a JSON file; None and a finding if there is no such object."""
        data = self.read(name, DOCUMENT_LIMIT + 1)
        if data is None:
            return None
        if len(data) > DOCUMENT_LIMIT:
            self.findings.add(name, 0, "too_long", f"it is longer than {DOCUMENT_LIMIT} bytes")
            return None
        return self._object(name, 0, data)

    def lines(self, name: str) -> Iterator[tuple[int, Fields | None]]:
        """Number and object of each line; None and a finding for a line that is no object.

        If the file cannot be opened: one pair, line 0 and None.
        """
        opened = self._open(name)
        if opened is None:
            yield 0, None
            return
        with opened as file:
            number = 0
            while data := file.readline(LINE_LIMIT + 1):
                number += 1
                if len(data) > LINE_LIMIT or number > LINES_LIMIT:
                    text = f"more than {LINES_LIMIT} lines, or a line of over {LINE_LIMIT} bytes"
                    self.findings.add(name, number, "too_long", text)
                    yield number, None
                    return
                if data.endswith(b"\n"):
                    yield number, self._object(name, number, data)
                else:  # the last line
                    text = "the last line does not end with a newline"
                    self.findings.add(name, number, "not_json", text)
                    yield number, None

    def measure(self, name: str) -> tuple[int, str] | None:
        """Size and sha256 of a file; None and a finding if it cannot be read."""
        opened = self._open(name)
        if opened is None:
            return None
        with opened as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            return file.tell(), sha256

    def names(self, folder: str) -> list[str]:
        """The plain files in a folder of the bundle; everything else in it is a finding."""
        try:
            if not stat.S_ISDIR((self.path / folder).lstat().st_mode):
                self.findings.add(folder, 0, "not_plain", "it is not a folder")
                return []
            found: list[str] = []
            with os.scandir(self.path / folder) as entries:
                for entry in entries:
                    if len(found) >= FILES_LIMIT:
                        text = f"it holds more than {FILES_LIMIT} files"
                        self.findings.add(folder, 0, "too_long", text)
                        break
                    if entry.is_file(follow_symlinks=False):
                        found.append(f"{folder}/{entry.name}")
                    else:
                        text = "it is not a plain file"
                        self.findings.add(f"{folder}/{entry.name}", 0, "not_plain", text)
        except FileNotFoundError:
            self.findings.add(folder, 0, "file_missing", "the folder does not exist")
            return []
        except OSError as error:
            self.findings.add(folder, 0, "not_plain", f"it cannot be read: {error.strerror}")
            return []
        return sorted(found)

    def _open(self, name: str) -> BufferedReader | None:
        # Non-blocking: opening a pipe that has no writer would wait forever.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(self.path / name, flags)
        except FileNotFoundError:
            self.findings.add(name, 0, "file_missing", "the file does not exist")
            return None
        except (OSError, ValueError) as error:
            self.findings.add(name, 0, "not_plain", f"it cannot be opened: {error}")
            return None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            self.findings.add(name, 0, "not_plain", "it is not a plain file")
            return None
        return os.fdopen(descriptor, "rb")

    def _object(self, name: str, line: int, data: bytes) -> Fields | None:
        try:
            value = parse(data)
        except _Refused as refused:
            self.findings.add(name, line, refused.rule, str(refused))
        except RecursionError:
            self.findings.add(name, line, "not_json", "it is nested too deeply")
        except ValueError as error:
            self.findings.add(name, line, "not_json", str(error))
        else:
            if isinstance(value, dict):
                return value
            self.findings.add(name, line, "not_json", f"it is a {type(value).__name__}")
        return None
