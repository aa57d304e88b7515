"""A bundle writes any given value as portable JSON, or reports that it cannot."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from orchestrator.evidence.bundle import TRACES, Bundle, EvidenceLost


def test_every_trace_is_there_and_its_events_carry_their_time(tmp_path: Path) -> None:
    with Bundle(tmp_path / "b", now_ms=lambda: 17) as bundle:
        bundle.event("action_trace", "action", step=0, text="é \ud800")
        bundle.document("summary.json", {"text": "half: \udfff"})
    assert {path.stem for path in (tmp_path / "b").glob("*.jsonl")} == set(TRACES)
    (line,) = (tmp_path / "b" / "action_trace.jsonl").read_text().splitlines()
    assert json.loads(line) == {"event": "action", "ts_ms": 17, "step": 0, "text": "é ?"}
    assert json.loads((tmp_path / "b" / "summary.json").read_text()) == {"text": "half: ?"}


def test_a_number_that_is_none_is_refused(tmp_path: Path) -> None:
    with Bundle(tmp_path / "b") as bundle, pytest.raises(ValueError, match="JSON"):
        bundle.event("action_trace", "action", step=float("nan"))


def test_a_picture_is_kept_once_however_often_it_was_seen(tmp_path: Path) -> None:
    with Bundle(tmp_path / "b") as bundle:
        first, digest = bundle.screenshot(b"png")
        assert bundle.screenshot(b"png") == (first, digest)
        assert bundle.screenshot(b"other")[0] != first
    assert len(list((tmp_path / "b" / "screenshots").iterdir())) == 2


@pytest.mark.parametrize("events", [1, 10_000])
def test_a_full_disk_is_said_at_the_latest_when_the_last_line_is_written(
    tmp_path: Path, events: int
) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "obs_trace.jsonl").symlink_to("/dev/full")

    def fill() -> None:
        with Bundle(tmp_path / "b") as bundle:
            for step in range(events):
                bundle.event("obs_trace", "observation", step=step)

    with pytest.raises(EvidenceLost, match="No space left") as lost:
        fill()
    assert lost.value.full


def test_any_other_trouble_with_the_disk_is_said_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EvidenceLost) as lost, Bundle(tmp_path / "file"):
        pass
    assert not lost.value.full
    assert not EvidenceLost(OSError(errno.EIO, "x")).full
