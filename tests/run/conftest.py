"""The farm as a user runs it: the command, its run folder, its journal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.transitions import Event
from orchestrator.folders import cache_folder

PATIENCE_S = 600  # several runs may share two cores
BUILD_S = 1200  # an image, where its packages and wheels are loaded first
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Farm:
    """`emufarm` with its runs in a folder of the test's."""

    runs: Path
    env: dict[str, str]

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "orchestrator.cli", *words]
        return subprocess.Popen(
            command,
            env=self.env,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, folder: Path | str, *words: str, name: str = "r") -> tuple[int, str]:
        """Exit code and output of a whole run."""
        command = ("run", str(folder), "--runs", str(self.runs), "--run", name, *words)
        return ended(self.start(*command))

    def resume(self, name: str = "r", *words: str) -> tuple[int, str]:
        return ended(self.start("resume", str(self.runs / name), *words))

    def events(self, name: str = "r") -> list[Event]:
        return [line.event for line in chain.read(self.runs / name / chain.FOLDER).lines]

    def journal(self, name: str = "r") -> bytes:
        """The bytes of a run that may be under way. A segment has its name once it is whole, and
        keeps it; until then it has another name, under which it vanishes."""
        segments = self.runs.glob(f"{name}/{chain.FOLDER}/*.jsonl")
        return b"".join(path.read_bytes() for path in segments)

    def report(self, name: str = "r") -> dict[str, Any]:
        report: dict[str, Any] = json.loads((self.runs / name / "report.json").read_text())
        return report

    def outcomes(self, name: str = "r") -> dict[str, str]:
        return {e["episode"]: e["final"]["outcome"] for e in self.report(name)["episodes"]}

    def digests(self, name: str = "r") -> dict[str, list[str]]:
        """Every post oracle's result, by episode."""
        found = {}
        for trace in sorted((self.runs / name / "episodes").glob("*/attempt-*/oracle_trace.jsonl")):
            events = [json.loads(line) for line in trace.read_text().splitlines()]
            found[trace.parts[-3]] = [
                f"{e['oracle_name']} {e['result_digest']}" for e in events if e["phase"] == "post"
            ]
        return found

    def processes(self) -> list[str]:
        """What runs with this farm's own temporary folder, or names its runs: a worker shows its
        environment to root alone."""
        mark = f"TMPDIR={self.env['TMPDIR']}".encode()  # a worker's is below it
        found = []
        for folder in Path("/proc").iterdir():
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                environ = environ_of(folder) or ([mark] if f"{self.runs}/" in words else [])
            except OSError:
                continue
            if any(one.startswith(mark) for one in environ):
                found.append(f"{folder.name} {words}")
        return found


def environ_of(process: Path) -> list[bytes]:
    """Empty where this user may not read it."""
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except PermissionError:
        return []


def ended(process: subprocess.Popen[str], seconds: float = PATIENCE_S) -> tuple[int, str]:
    try:
        output, _ = process.communicate(timeout=seconds)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return process.returncode, output


def a_farm(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Farm:
    # One bake for all workers of this test session, and the machine's wheels.
    shared = tmp_path_factory.getbasetemp()
    cache = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "cache"
    wheels = cache_folder() / "wheels"
    for place in (wheels, cache):
        place.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        (cache / "wheels").symlink_to(wheels)
    scratch = folder / "tmp"
    scratch.mkdir()
    env = {**os.environ, "EMUFARM_CACHE": str(cache), "TMPDIR": str(scratch)}
    env["PATH"] = f"{unable_to_confine(folder)}:{env['PATH']}"
    return Farm(folder / "runs", env)


def unable_to_confine(folder: Path) -> Path:
    """A folder for PATH with programs that fail, so that a host that can confine agents is like any
    other: most tests' agents write where the test looks, which a confined one could not."""
    programs = folder / "unable"
    programs.mkdir()
    for name in ("bwrap", "slirp4netns"):
        (programs / name).write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
        (programs / name).chmod(0o755)
    return programs


@pytest.fixture
def farm(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Farm:
    return a_farm(tmp_path, tmp_path_factory)


@pytest.fixture
def agent(tmp_path: Path) -> Callable[[str], str]:
    return agent_program(tmp_path)


def agent_program(folder: Path) -> Callable[[str], str]:
    """An agent program from the body of its answer to each observation."""

    def write(body: str) -> str:
        program = folder / "agent.py"
        program.write_text(
            "import json, os, sys, time\n"
            "for line in sys.stdin:\n"
            "    said = json.loads(line)\n"
            "    if said['type'] == 'hello':\n"
            "        print(json.dumps({'type': 'ready'}), flush=True)\n"
            "        continue\n"
            "    step, elements = said['step'], said['elements'] or []\n"
            + "".join(f"    {line}\n" for line in body.splitlines())
            + "    print(json.dumps(action), flush=True)\n"
        )
        return f"command:{sys.executable} {program}"

    return write
