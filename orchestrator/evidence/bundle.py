"""Writes the bundle of one attempt: traces, screenshots, UI dumps and raw oracle results.

attempt.json            the judgement, with the episode and the number of the attempt
summary.json            the same for tools that read scores; only if the agent was shown a screen
*_trace.jsonl, ...      one line per event; see TRACES
screenshots/<hash>.png  each picture once, however often it was observed
ui_dump/uiautomator_<hash>.xml
oracle_raw/<hash>.txt   each query's output, from which the decision can be computed again
MANIFEST.json           the seal, written last (manifest.py)
"""

from __future__ import annotations

import errno
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self, TextIO

from ..errors import EmufarmError
from ..settings import RAW_LIMIT

TRACES = (
    "action_trace", "obs_trace", "foreground_trace", "device_trace", "screen_trace",
    "agent_call_trace", "agent_action_trace", "ui_elements", "oracle_trace",
    "device_input_trace", "consent_trace",
)  # fmt: skip
FOLDERS = ("screenshots", "ui_dump", "oracle_raw")
Fields = dict[str, Any]


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class EvidenceLost(EmufarmError):
    """The bundle cannot be written."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"the evidence cannot be written: {error}")
        self.full = error.errno in (errno.ENOSPC, errno.EDQUOT)


class Bundle:
    """Used in a `with` statement; every call may raise EvidenceLost."""

    def __init__(self, folder: Path, now_ms: Callable[[], int] = wall_ms) -> None:
        self.folder = folder
        self.now_ms = now_ms
        self._traces: dict[str, TextIO] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with _writing():
            for name in FOLDERS:
                (self.folder / name).mkdir(parents=True)
            for name in TRACES:
                file = (self.folder / f"{name}.jsonl").open("w", encoding="utf-8")
                self._traces[name] = self._open.enter_context(file)
        return self

    def __exit__(self, *error: object) -> None:
        with _writing():
            self._open.close()  # flushes the last lines

    def event(self, trace: str, event: str, **fields: Any) -> None:
        """Write one event to a trace."""
        self.line(trace, {"event": event, "ts_ms": self.now_ms(), **fields})

    def line(self, trace: str, fields: Fields) -> None:
        """Write one line to device_input_trace, whose lines are not events."""
        text = json.dumps(fields, ensure_ascii=False, allow_nan=False, sort_keys=True)
        with _writing():
            self._traces[trace].write(replace_surrogates(text) + "\n")

    def screenshot(self, png: bytes) -> tuple[str, str]:
        """Store a picture; its name in the bundle and its digest."""
        return self._write_once("screenshots/{}.png", png)

    def dump(self, xml: str) -> tuple[str, str]:
        return self._write_once("ui_dump/uiautomator_{}.xml", xml.encode("utf-8", "replace"))

    def raw(self, data: bytes) -> Fields:
        """Store a raw oracle result, cut at RAW_LIMIT; digest and size are those of all of it."""
        name, digest = self._write_once("oracle_raw/{}.txt", data, RAW_LIMIT)
        return {"file": name, "sha256": digest, "size": len(data)}

    def _write_once(self, pattern: str, data: bytes, limit: int | None = None) -> tuple[str, str]:
        """Store `limit` bytes under the digest of all; the file's name, and the digest."""
        digest = hashlib.sha256(data).hexdigest()
        name = pattern.format(digest[:16])
        path = self.folder / name
        with _writing():
            if not path.exists():
                path.write_bytes(data[:limit])
        return name, digest

    def document(self, name: str, fields: Fields) -> None:
        text = json.dumps(fields, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1)
        with _writing():
            (self.folder / name).write_text(replace_surrogates(text) + "\n", encoding="utf-8")


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON can hold and UTF-8 cannot, by question marks."""
    return text.encode("utf-8", "replace").decode()


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EvidenceLost(error) from error
