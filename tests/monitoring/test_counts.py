"""Bars of counts add up to what was counted, whatever falls between two of their steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from k8s.monitoring.source import queries
from tests.e2e.prometheus import install_prometheus
from tests.monitoring.test_rules import promtool

pytestmark = [pytest.mark.metrics, pytest.mark.parametrize("scrape", ["15s", "60s"])]

BEFORE = 300  # scrapes: more than the hour that a run's start may lie before its first one
AFTER = 70  # scrapes, in which all of these are seen


@dataclass(frozen=True)
class Counter:
    """A run's counter as promtool writes its samples, the run's start likewise (`@3`: the time of
    the third scrape), and what is counted."""

    samples: str
    started: str
    counted: int


COUNTERS = {
    "one event": Counter("0x7 1x30", "@300x37", 1),
    "an event at each scrape": Counter("0+1x37", "@300x37", 37),
    "all that there is before the first scrape": Counter("_x3 12x30", "_x3 @301x30", 12),
    "a run that ends, and is not scraped any more": Counter("0+2x9 stale", "@300x9 stale", 18),
    "a coordinator that is away, and goes on": Counter("0+2x9 stale _x12 20x9", "@300x40", 20),
    "a run of yesterday that is served again": Counter("50x30", "0x30", 0),
    "an old run that is resumed, and goes on": Counter("50+1x30", "0x30", 30),
    "two runs of one name": Counter("0+1x20 20x9 3+1x30", "@299x30 @330x30", 20 + 33),
}  # fmt: skip


@pytest.mark.parametrize("step", ["30s", "60s", "105s"])
@pytest.mark.parametrize("case", COUNTERS)
def test_bars_add_up_to_what_was_counted(case: str, step: str, scrape: str, tmp_path: Path) -> None:
    bars = f"sum({filled(queries.in_step('fenced_total'), step)})"
    asked = f"sum_over_time({bars}[{AFTER * seconds_of(scrape)}s:{step}])"
    assert told(COUNTERS[case], asked, scrape, tmp_path) == ""


@pytest.mark.parametrize("case", sorted(COUNTERS.keys() - {"two runs of one name"}))
def test_a_number_for_a_range_says_the_same(case: str, scrape: str, tmp_path: Path) -> None:
    """But of two runs of one name, of which only the later one is known at the end."""
    asked = f"sum({filled(queries.in_range('fenced_total'), f'{AFTER * seconds_of(scrape)}s')})"
    assert told(COUNTERS[case], asked, scrape, tmp_path) == ""


def seconds_of(duration: str) -> int:
    return int(duration.removesuffix("s"))


def filled(expression: str, window: str) -> str:
    seconds = seconds_of(window)
    values = {
        "namespace": ".*", "run": ".*", "__interval": window, "__interval_ms": str(1000 * seconds),
        "__range": window, "__range_s": str(seconds),
    }  # fmt: skip
    return re.sub(r"\$(\w+)", lambda found: values[found.group(1)], expression)


def told(counter: Counter, asked: str, scrape: str, folder: Path) -> str:
    """What promtool says of an answer that is not the one that is expected."""
    install_prometheus()
    labels = '{namespace="farm", instance="night"}'
    every = seconds_of(scrape)
    started = re.sub(r"@(\d+)", lambda at: str(every * int(at.group(1))), counter.started)
    test = {
        "interval": scrape,
        "input_series": [
            {"series": f"emufarm_fenced_total{labels}", "values": f"_x{BEFORE} {counter.samples}"},
            {
                "series": f"emufarm_run_start_time_seconds{labels}",
                "values": f"_x{BEFORE} {started}",
            },
        ],
        "promql_expr_test": [
            {
                "expr": asked,
                "eval_time": f"{(BEFORE + AFTER) * every}s",
                "exp_samples": [{"value": counter.counted}],
            }
        ],
    }
    file = folder / "counts.yaml"
    file.write_text(yaml.safe_dump({"tests": [test]}))
    done = promtool("test", "rules", file)
    return "" if done.returncode == 0 else done.stdout + done.stderr
