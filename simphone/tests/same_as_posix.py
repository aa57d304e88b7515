"""The same script on the phone and on the host: both must say the same."""

from __future__ import annotations

import asyncio
import subprocess

from tests.guest import Guest


def scripts(text: str) -> list[str]:
    """Scripts that stand apart by lines of dashes."""
    return text.strip().split("\n----\n")


async def check(guest: Guest, script: str) -> None:
    folder = guest.folder / "posix"
    folder.mkdir()
    posix = await asyncio.to_thread(
        subprocess.run,
        ["sh", "-c", script],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/"},
    )
    answer = await guest.sh(script)
    assert answer.out == posix.stdout.decode("utf-8", "surrogateescape")
    assert answer.code == posix.returncode, answer.err
