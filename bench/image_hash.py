"""Compares the speed of the system image's hash with that of the contract's own shell pipeline.

    .venv/bin/python bench/image_hash.py [--megabytes 2048] [--rounds 3] [--below FOLDER]

Makes a tree like a real image's (a few large files, many small ones), then hashes it alternately
with the real pipeline and with ours. Exits 1 if the two hashes differ, or if ours is not 1.8
times as fast. The tree was just written, so both read it from memory.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from orchestrator.pins.system_image import SystemImage, hash_system_image

WANTED = 1.8
RECIPE = 'find "$IMG_DIR" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum'
# Shares of the whole; the rest is small files.
LARGE = {
    "system.img": 0.45, "vendor.img": 0.25, "userdata.img": 0.15, "encryptionkey.img": 0.06,
    "kernel-ranchu": 0.04, "ramdisk.img": 0.03,
}  # fmt: skip
SMALL = 2000


def make(folder: Path, size: int) -> None:
    draw = random.Random(0)
    for name, share in LARGE.items():
        with (folder / name).open("wb") as file:
            for _ in range(round(size * share) >> 20):
                file.write(draw.randbytes(1 << 20))
    rest = size - sum(path.stat().st_size for path in folder.iterdir())
    for number in range(SMALL):
        path = folder / "data" / f"part {number % 40}" / f"{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(draw.randbytes(rest // SMALL))


def pipeline(folder: Path) -> str:
    env = {**os.environ, "LC_ALL": "C", "IMG_DIR": str(folder)}
    done = subprocess.run(["sh", "-c", RECIPE], env=env, capture_output=True, check=True)
    return done.stdout.decode().split()[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--below", type=Path, help="where the tree is made")
    given = parser.parse_args()
    theirs, ours = list[float](), list[float]()
    hashes = list[SystemImage]()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=given.below) as name:
        folder = Path(name) / "x86_64"
        folder.mkdir()
        make(folder, given.megabytes << 20)
        for _ in range(given.rounds):
            started = time.perf_counter()
            printed = pipeline(folder)
            theirs.append(time.perf_counter() - started)
            started = time.perf_counter()
            hashes.append(hash_system_image(folder))
            ours.append(time.perf_counter() - started)
            if hashes[-1].recipe_sha256 != printed:
                print(f"the pipeline says {printed}, we say {hashes[-1].recipe_sha256}")
                return 1
    hashed = hashes[-1]
    megabytes, cores = hashed.bytes / 1e6, os.cpu_count()
    print(f"{hashed.files} files, {megabytes:.0f} MB, {cores} cores: {hashed.recipe_sha256}")
    for label, samples in (("the shell pipeline", theirs), ("ours, both hashes", ours)):
        shown = "  ".join(f"{sample:6.2f}" for sample in samples)
        rate = megabytes / statistics.median(samples)
        print(f"{label:<20} {shown}  s   median {rate:6.0f} MB/s")
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(f"ours is {ratio:.2f} times as fast; {WANTED} is wanted")
    return 0 if ratio >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
