"""Checks in an image's build that the SDK's programs find their shared libraries.

    check_libraries.py SDK

It runs ldd on adb and on what an emulator without a window runs; libraries for windows are not
needed and not checked. It prints which files it skips. Standard library only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LDD_S = 60.0
# Run or loaded by an emulator without a window. The last is for the stand-in SDK.
NEEDED = (
    "platform-tools/adb",
    "emulator/emulator",
    "emulator/qemu/*/qemu-system-*-headless",
    "emulator/lib/**/*.so",
)
# The folders that the emulator's launcher searches.
SEARCHED = ("emulator/lib64", "emulator/lib64/qt/lib", "emulator/lib64/gles_swiftshader")


def missing(sdk: Path) -> tuple[list[str], list[str]]:
    """Libraries not found, as `PROGRAM needs LIBRARY`, and files skipped, with the reason."""
    wrong, skipped = [], []
    env = {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": ":".join(str(sdk / p) for p in SEARCHED)}
    for pattern in NEEDED:
        for path in sorted(sdk.glob(pattern)):
            name = path.relative_to(sdk)
            with path.open("rb") as file:
                if file.read(4) != b"\x7fELF":
                    skipped.append(f"{name}: a script")
                    continue
            done = subprocess.run(
                ["ldd", str(path)], env=env, capture_output=True, text=True, timeout=LDD_S,
                check=False,
            )  # fmt: skip
            lines = [line.strip() for line in done.stdout.splitlines()]
            wrong += [f"{name} needs {line.split()[0]}" for line in lines if "not found" in line]
            if done.returncode != 0:
                why = (done.stderr.strip() or done.stdout.strip()).replace("\n", " ")
                if "not a dynamic executable" in why or "statically linked" in why:
                    skipped.append(f"{name}: linked statically")
                elif not any("not found" in line for line in lines):
                    wrong.append(f"{name}: ldd: {why or done.returncode}")
    return wrong, skipped


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: check_libraries.py SDK", file=sys.stderr)
        return 2
    wrong, skipped = missing(Path(arguments[0]))
    for line in skipped:
        print(f"check_libraries: skipped {line}")
    if wrong:
        print(
            f"check_libraries: libraries are missing in the image: {'; '.join(wrong)}; "
            "name their packages in the profile's sdk.packages",
            file=sys.stderr,
        )
        return 1
    print("check_libraries: every program finds its libraries")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
