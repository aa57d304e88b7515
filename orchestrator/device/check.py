"""The device check: tests a phone against every expectation and records the findings.

If a folder is given, findings.json and recordings.jsonl are written there; the latter has each
exchange as it was on the wire.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from .adb_socket import Exchange
from .expectations import EXPECTATIONS, Expectation
from .expectations.expectation import CheckResult
from .faults import DeviceFault
from .phone import Device

_INLINE = 64 * 1024


@dataclass(frozen=True)
class CheckFinding:
    """One expectation and what was seen; `holds` is None if it could not be checked."""

    name: str
    why: str
    expected: str
    seen: str
    holds: bool | None
    seconds: float


def passed(findings: Sequence[CheckFinding]) -> bool:
    """Whether at least one expectation was checked and none failed."""
    checked = [finding.holds for finding in findings if finding.holds is not None]
    return bool(checked) and all(checked)


def run_check(
    device: Device,
    *,
    destructive: bool = False,
    folder: Path | None = None,
    expectations: Sequence[Expectation] = EXPECTATIONS,
    on_finding: Callable[[CheckFinding], None] = lambda finding: None,
) -> list[CheckFinding]:
    """Checks every expectation in order; one failure does not hide the next."""
    findings: list[CheckFinding] = []
    recorder = None if folder is None else _Recorder(folder)
    try:
        for expectation in expectations:
            if expectation.destructive and not destructive:
                continue
            if recorder is not None:
                device.listen(partial(recorder.record, expectation.name))
            findings.append(_check(device, expectation))
            on_finding(findings[-1])
    finally:
        device.listen(None)
        if recorder is not None:
            recorder.close(findings)
    return findings


def _check(device: Device, expectation: Expectation) -> CheckFinding:
    started = time.monotonic()
    if expectation.needs_console and not device.has_console:
        seen = CheckResult(None, "not checked: this phone has no console whose token is known")
    else:
        try:
            seen = expectation.look(device)
        except DeviceFault as fault:
            seen = CheckResult(False, str(fault))
        except Exception as error:  # noqa: BLE001 - an unforeseen error is a finding too
            seen = CheckResult(False, f"{type(error).__name__}: {error}")
    seconds = round(time.monotonic() - started, 4)
    e = expectation
    return CheckFinding(e.name, e.why, e.expected, seen.text, seen.holds, seconds)


class _Recorder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._blobs = 0
        self._lock = threading.Lock()  # exchanges may come from several threads
        folder.mkdir(parents=True, exist_ok=True)
        self._lines = (folder / "recordings.jsonl").open("w", encoding="utf-8")

    def record(self, expectation: str, exchange: Exchange) -> None:
        with self._lock:
            line = {
                "expectation": expectation,
                "kind": exchange.kind,
                "command": exchange.request,
                "stdout": self._text(exchange.stdout),
                "stderr": self._text(exchange.stderr),
                "exit": exchange.exit_code,
                "fault": exchange.fault,
                "ms": round(exchange.seconds * 1000, 3),
            }
            self._lines.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _text(self, data: bytes) -> str | dict[str, object]:
        """Short text as it is; binary or long data goes into a file of its own."""
        if len(data) <= _INLINE:
            try:
                return data.decode()
            except UnicodeDecodeError:
                pass
        self._blobs += 1
        name = f"{self._blobs:04d}.bin"
        (self._folder / name).write_bytes(data)
        return {"file": name, "bytes": len(data)}

    def close(self, findings: list[CheckFinding]) -> None:
        self._lines.close()
        text = json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False)
        (self._folder / "findings.json").write_text(text + "\n", encoding="utf-8")
