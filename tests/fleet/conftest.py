"""A baked image, shared by every process of this test session, and a fleet that runs on it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.device.adb import adb_binary
from orchestrator.farm.simulated_phone import simulator
from orchestrator.fleet.fact import Fact
from orchestrator.fleet.local.fleet import LocalFleet
from orchestrator.fleet.local.pair import Pair, Terms
from orchestrator.image.golden_cache import GoldenImage
from tests.image.golden_fixtures import image, recipe

__all__ = ["image", "recipe"]

STAND_IN = Path(__file__).with_name("stand_in_worker.py")
PATIENCE_S = 120.0


@dataclass
class Watched:
    """What a fleet did, as it happened."""

    facts: asyncio.Queue[Fact] = field(default_factory=asyncio.Queue)
    pairs: asyncio.Queue[Pair] = field(default_factory=asyncio.Queue)  # one a worker's start

    async def fact(self) -> Fact:
        return await asyncio.wait_for(self.facts.get(), PATIENCE_S)

    async def pair(self) -> Pair:
        return await asyncio.wait_for(self.pairs.get(), PATIENCE_S)


Deeds = Callable[[Pair], Sequence[str]]
Start = Callable[..., AbstractAsyncContextManager[LocalFleet]]


def stand_in(pair: Pair, *deed: str) -> list[str]:
    return [sys.executable, str(STAND_IN), str(pair.staging), *deed]


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def fleet(image: GoldenImage, tmp_path: Path, watched: Watched) -> Iterator[Start]:
    """Starts a fleet whose workers do as they are told."""

    @asynccontextmanager
    async def start(  # type: ignore[no-untyped-def]
        deeds: Deeds, *, count: int = 1, emulator: Sequence[str] = (), starts: int = 5
    ):
        def command(pair: Pair) -> list[str]:
            watched.pairs.put_nowait(pair)
            return stand_in(pair, *deeds(pair))

        terms = Terms(
            golden=image.golden,
            emulator=lambda number: emulator or simulator(noise=number),
            adb=adb_binary(),
            worker_command=command,
            device_env=dict(os.environ),
            worker_env={"PATH": os.environ["PATH"]},
            work=tmp_path / "work",
            staging=tmp_path / "staging",
            logs=tmp_path / "logs",
            starts=starts,
            last_word_s=0.5,
            seal_s=0.5,
        )
        async with LocalFleet(count, terms, watched.facts.put_nowait) as running:
            yield running

    yield start
    assert processes_of(tmp_path) == {}
    assert not (tmp_path / "work").exists() or not list((tmp_path / "work").iterdir())


def processes_of(folder: Path) -> dict[int, str]:
    """Every living process that was started with a path below this folder, by its pid."""
    found, needle = {}, str(folder).encode()
    for place in Path("/proc").iterdir():
        if place.name.isdecimal() and int(place.name) != os.getpid():
            try:
                words = (place / "cmdline").read_bytes()
                told = words + (place / "environ").read_bytes()
            except OSError:  # it ended while we looked
                continue
            if words and needle in told:  # a zombie has no words
                found[int(place.name)] = words.replace(b"\0", b" ").decode("utf-8", "replace")
    return found
