"""Prometheus's own linter has nothing to say of what a run exposes."""

from __future__ import annotations

import random
import subprocess

import pytest

from orchestrator.metrics.collector import exposition, registered
from tests.e2e.prometheus import install_prometheus
from tests.metrics.journals import Life
from tests.metrics.test_collector import metrics_of

HOSTILE = 'night "1"\n{run="\\other"} 1'


def linted(text: bytes) -> tuple[int, str]:
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, timeout=60, check=False
    )
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.mark.metrics
@pytest.mark.parametrize("run", ["one", HOSTILE])
def test_promtool_finds_no_fault_with_what_is_exposed(run: str) -> None:
    install_prometheus()
    metrics = metrics_of(run=run)
    for event in Life(random.Random(7)).live(500):
        metrics.journaled(event)
    text, _ = exposition(registered(metrics), "")
    assert linted(text) == (0, "")
    broken = text.replace(b"emufarm_retries_total", b"emufarm_retries")
    code, said = linted(broken)
    assert code != 0
    assert "emufarm_retries" in said
