"""One attempt's folder while it is being written.

attempt.json            the judgement, and which attempt of which episode this is
summary.json            the same for tools that read scores; only where the agent was reached
*_trace.jsonl, ...      one line per event, see TRACES
screenshots/<hash>.png  each picture once, however often it was seen
ui_dump/uiautomator_<hash>.xml
oracle_raw/<hash>.txt   what each query printed, so that a decision can be computed again
MANIFEST.json           written last (manifest.py): the seal
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

TRACES = (
    "action_trace", "obs_trace", "foreground_trace", "device_trace", "screen_trace",
    "agent_call_trace", "agent_action_trace", "ui_elements", "oracle_trace",
    "device_input_trace", "consent_trace",
)  # fmt: skip
RAW_LIMIT = 1 << 20  # of one oracle's raw output; the digest is over the whole
Fields = dict[str, Any]


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Bundle:
    def __init__(self, folder: Path, now_ms: Callable[[], int] = wall_ms) -> None:
        self.folder = folder
        self.now_ms = now_ms
        for name in ("screenshots", "ui_dump", "oracle_raw"):
            (folder / name).mkdir(parents=True)
        self._traces: dict[str, TextIO] = {
            name: (folder / f"{name}.jsonl").open("w", encoding="utf-8") for name in TRACES
        }

    def event(self, trace: str, event: str, **fields: Any) -> None:
        """One line of a trace."""
        self.line(trace, {"event": event, "ts_ms": self.now_ms(), **fields})

    def line(self, trace: str, fields: Fields) -> None:
        """For the one trace whose lines are no events."""
        text = json.dumps(fields, ensure_ascii=False, allow_nan=False, sort_keys=True)
        self._traces[trace].write(text.encode("utf-8", "replace").decode() + "\n")

    def screenshot(self, png: bytes) -> tuple[str, str]:
        """The picture's name in the bundle, and its digest."""
        digest = hashlib.sha256(png).hexdigest()
        name = f"screenshots/{digest[:16]}.png"
        self._once(name, png)
        return name, digest

    def dump(self, xml: str) -> tuple[str, str]:
        data = xml.encode("utf-8", "replace")
        digest = hashlib.sha256(data).hexdigest()
        name = f"ui_dump/uiautomator_{digest[:16]}.xml"
        self._once(name, data)
        return name, digest

    def raw(self, text: str) -> tuple[str, str]:
        data = text.encode("utf-8", "replace")
        digest = hashlib.sha256(data).hexdigest()
        name = f"oracle_raw/{digest[:16]}.txt"
        self._once(name, data[:RAW_LIMIT])
        return name, digest

    def _once(self, name: str, data: bytes) -> None:
        path = self.folder / name
        if not path.exists():
            path.write_bytes(data)

    def document(self, name: str, fields: Fields) -> None:
        text = json.dumps(fields, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1)
        (self.folder / name).write_text(text + "\n", encoding="utf-8")

    def close(self) -> None:
        for trace in self._traces.values():
            trace.close()
