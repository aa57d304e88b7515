"""Does every program of the SDK find its libraries in this image? Standard library only.

    linked.py SDK

Asks ldd about adb and what the emulator runs headless. A window's libraries are not needed and not
asked about; what is left out is said.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LDD_S = 60.0
# Run, or loaded, by an emulator without a window. The last is the stand-in's.
NEEDED = (
    "platform-tools/adb",
    "emulator/emulator",
    "emulator/qemu/*/qemu-system-*-headless",
    "emulator/lib/**/*.so",
)
# Where the emulator's launcher has them searched.
SEARCHED = ("emulator/lib64", "emulator/lib64/qt/lib", "emulator/lib64/gles_swiftshader")


def missing(sdk: Path) -> tuple[list[str], list[str]]:
    """What is not found, as `PROGRAM needs LIBRARY`; and what was not asked about, with why."""
    wrong, skipped = [], []
    env = {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": ":".join(str(sdk / p) for p in SEARCHED)}
    for pattern in NEEDED:
        for path in sorted(sdk.glob(pattern)):
            name = path.relative_to(sdk)
            with path.open("rb") as file:
                if file.read(4) != b"\x7fELF":
                    skipped.append(f"{name}: a script")
                    continue
            said = subprocess.run(
                ["ldd", str(path)], env=env, capture_output=True, text=True, timeout=LDD_S,
                check=False,
            )  # fmt: skip
            lines = [line.strip() for line in said.stdout.splitlines()]
            wrong += [f"{name} needs {line.split()[0]}" for line in lines if "not found" in line]
            if said.returncode != 0:
                why = (said.stderr.strip() or said.stdout.strip()).replace("\n", " ")
                if "not a dynamic executable" in why or "statically linked" in why:
                    skipped.append(f"{name}: linked statically")
                elif not any("not found" in line for line in lines):
                    wrong.append(f"{name}: ldd says {why or said.returncode}")
    return wrong, skipped


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: linked.py SDK", file=sys.stderr)
        return 2
    wrong, skipped = missing(Path(arguments[0]))
    for line in skipped:
        print(f"linked: not asked about {line}")
    if wrong:
        print(
            f"linked: libraries are missing in the image: {'; '.join(wrong)}; "
            "name their packages in the profile's sdk.packages",
            file=sys.stderr,
        )
        return 1
    print("linked: every program finds its libraries")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
