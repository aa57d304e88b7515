"""Measures the size of a step's evidence by kind, and what storing each file once saves.

    .venv/bin/python bench/evidence.py RUN [--deflate 40]

Only reads a run's bundles. `packed` is the size of what a worker sends to the coordinator.
`--deflate N` shows what it would save and cost to compress N of the pictures again without loss.
"""

from __future__ import annotations

import argparse
import json
import struct
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.evidence import archive
from orchestrator.settings import RAW_LIMIT

KINDS = {".png": "pictures", ".xml": "dumps", ".jsonl": "traces", ".txt": "raw results"}


@dataclass
class Weight:
    steps: int = 0
    bundles: int = 0
    packed: int = 0
    files: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)  # bytes, by kind
    seen: Counter[str] = field(default_factory=Counter)  # bytes, were each sight stored anew


def weigh(run: Path) -> Weight:
    weight = Weight()
    for folder in sorted(path.parent for path in run.glob("episodes/*/*/summary.json")):
        weight.bundles += 1
        for path in (path for path in folder.rglob("*") if path.is_file()):
            kind = KINDS.get(path.suffix, "documents")
            weight.files[kind] += 1
            weight.stored[kind] += path.stat().st_size
        for event in lines(folder / "obs_trace.jsonl"):
            weight.steps += 1
            weight.seen["pictures"] += (folder / event["screenshot_file"]).stat().st_size
            if event["ui_hash"]:
                dump = folder / "ui_dump" / f"uiautomator_{event['ui_hash'][:16]}.xml"
                weight.seen["dumps"] += dump.stat().st_size
        for event in lines(folder / "oracle_trace.jsonl"):
            weight.seen["raw results"] += sum(min(raw["size"], RAW_LIMIT) for raw in event["raw"])
        with tempfile.TemporaryDirectory() as scratch:
            target = Path(scratch) / "bundle.tar.zst"
            archive.pack(folder, target)
            weight.packed += target.stat().st_size
    return weight


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def deflate(pictures: list[Path]) -> str:
    """The same scanlines under zlib's level 6: no pixel can change."""
    before = after = 0
    started = time.process_time()
    for picture in pictures:
        scanlines = zlib.decompress(image_data(picture.read_bytes()))
        before += picture.stat().st_size
        after += len(zlib.compress(scanlines, 6))
    each_ms = (time.process_time() - started) / len(pictures) * 1000
    saved = 1 - after / before
    return (
        f"{len(pictures)} pictures deflated again: {saved:.0%} smaller, {each_ms:.0f} ms CPU each"
    )


def image_data(png: bytes) -> bytes:
    found, at = b"", 8
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        found += png[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path, help="a run's folder")
    parser.add_argument("--deflate", type=int, default=0, metavar="N", help="of how many pictures")
    asked = parser.parse_args()
    weight = weigh(asked.run)
    if not weight.steps:
        raise SystemExit("there is no step in it")
    print(f"{weight.bundles} bundles, {weight.steps} steps")
    print(f"{'':12}{'files':>8}{'bytes':>12}{'bytes/step':>12}{'saved':>8}")
    for kind, count in weight.stored.most_common():
        anew = max(weight.seen[kind], count)
        saved = f"{1 - count / anew:.0%}" if kind in weight.seen and anew else "-"
        per_step = count / weight.steps
        print(f"{kind:12}{weight.files[kind]:8}{count:12}{per_step:12.0f}{saved:>8}")
    for name, count in (("all", sum(weight.stored.values())), ("packed", weight.packed)):
        print(f"{name:20}{count:12}{count / weight.steps:12.0f}")
    pictures = sorted(asked.run.glob("episodes/*/*/screenshots/*.png"))
    if asked.deflate and pictures:
        print(deflate(pictures[:: max(1, len(pictures) // asked.deflate)]))


if __name__ == "__main__":
    main()
