"""A run whose disk is full is scraped as before, says so, and counts on once there is room."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from orchestrator.metrics.families import FAMILIES
from tests.metrics.test_totals import recount
from tests.ports import even_port
from tests.run.conftest import Farm, agent_program, ended
from tests.run.test_metrics_port import Scraper
from tests.run.test_road import SMOKE, wait_for

pytestmark = [
    pytest.mark.metrics,
    pytest.mark.skipif(os.geteuid() != 0, reason="a disk of its own needs root"),
]
SIZE = 24 << 20
NAMES = {each.name for each in FAMILIES if each.source == "journal" and each.kind == "counter"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "emufarm-test", str(place)]
    subprocess.run(mount, check=True, timeout=30)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True, timeout=30)


def fill(file: Path) -> None:
    """Takes the last byte of its disk."""
    with file.open("wb", buffering=0) as filler:
        for piece in (1 << 16, 1):
            with suppress(OSError):  # there is no space left
                while filler.write(b"x" * piece):
                    pass


def test_a_full_disk_hides_no_metrics_and_loses_no_count(
    farm: Farm, small_disk: Path, tmp_path: Path
) -> None:
    go, port, runs = tmp_path / "go", even_port(), small_disk / "runs"
    body = f"while not os.path.exists({str(go)!r}): time.sleep(0.05)\naction = {{'action': 'done'}}"
    words = ("--devices", "1", "--metrics-port", str(port))
    process = farm.start(
        "run", SMOKE, "--runs", str(runs), "--run", "r", "--repeats", "3", "--backend", "local",
        "--agent", agent_program(tmp_path)(body), *words,
    )  # fmt: skip
    scraper = Scraper(port)
    try:
        wait_for(lambda: leased(scraper) == 1, process)
        fill(small_disk / "filler")
        seen = len(scraper.answers)
        wait_for(lambda: len(scraper.answers) > seen + 1, process)
        assert scraper.answers[-1]["run_over",] == 0
        go.touch()
        code, output = ended(process)
        assert code not in (0, 2), output
        assert "make room there" in output
        assert "Traceback" not in output
        before = scraper.answers[-1]
        (small_disk / "filler").unlink()
        code, output = ended(
            farm.start("resume", str(runs / "r"), *words, "--metrics-linger", "30")
        )
    finally:
        scraper.end()
    assert code == 0, output
    last = scraper.answers[-1]
    assert last["run_over",] == 1
    wanted: Counter[tuple[str, ...]] = Counter()
    for family, labels, amount in recount(Farm(runs, farm.env).events()):
        wanted[family, *sorted(labels)] += amount  # type: ignore[assignment]  # of seconds too
    for key in (key for key in last if key[0] in NAMES):
        assert last[key] == pytest.approx(wanted[key[0], *sorted(key[1:])]), key
        assert last[key] >= before[key]


def leased(scraper: Scraper) -> float:
    return scraper.answers[-1]["episodes", "leased"] if scraper.answers else 0
