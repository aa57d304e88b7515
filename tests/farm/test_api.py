"""The examples of the Python API run, in a script and inside a running event loop."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import orchestrator
from orchestrator import farm

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "api.md"
TIMEOUT_S = 300


def examples() -> str:
    """Every Python block of the page, in order."""
    return "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))


def in_notebook(script: str) -> str:
    """The same statements, called from a coroutine, as a notebook's kernel calls a cell."""
    call = f"async def cell():\n    exec({script!r}, {{}})\n"
    return f"import asyncio\n{call}\nasyncio.new_event_loop().run_until_complete(cell())\n"


def executed(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "cases").symlink_to(ROOT / "cases")
    (folder / "example.py").write_text(script)
    return subprocess.run(
        [sys.executable, "example.py"],
        cwd=folder,
        env={**os.environ, "DOCKER_HOST": "unix:///nonexistent/docker.sock"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def test_every_example_of_the_page_runs_in_a_notebook(tmp_path: Path) -> None:
    """A script calls the same functions with less around it, as every command does."""
    done = executed(in_notebook(examples()), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "BSR 1/1, coverage 100%" in done.stdout
    assert "refrence" in done.stdout


INTERRUPTED = """
import os, signal
from orchestrator import Journaled, RunInterrupted, resume, run

# What a shell starts in the background ignores Ctrl-C, and so would this script.
signal.signal(signal.SIGINT, signal.default_int_handler)

def show(event):
    print(getattr(event, "text", ""), flush=True)
    if isinstance(event, Journaled):
        print(event.event.event, flush=True)
        if event.event.event == "lease_granted":
            os.kill(os.getpid(), signal.SIGINT)

try:
    run("cases/smoke", devices=1, backend="local", name="r", on_event=show)
except RunInterrupted as error:
    print(error)
print("complete:", resume("r", devices=1).complete)
"""


@pytest.mark.parametrize("shape", [str, in_notebook], ids=["script", "notebook"])
def test_an_interrupted_run_says_so_at_once_and_can_be_resumed(
    shape: type[str], tmp_path: Path
) -> None:
    done = executed(shape(INTERRUPTED), tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    (stopping,) = [number for number, line in enumerate(lines) if line.startswith("stopping: ")]
    assert "lease_granted" in lines[:stopping]
    assert "lease_returned" in lines[stopping:]
    assert "interrupted; `emufarm resume runs/r` goes on with it" in lines
    assert lines[-1] == "complete: True"


def test_the_package_offers_what_the_farm_room_offers() -> None:
    for name in farm.__all__:
        assert getattr(orchestrator, name) is getattr(farm, name)
    with pytest.raises(AttributeError):
        orchestrator.nothing  # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    """The supervisor is a module of it, and its image has no packages."""
    script = "import sys, orchestrator; print([m for m in sys.modules if m.startswith('orch')])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "['orchestrator']"
