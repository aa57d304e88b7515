"""How long will an episode take? What earlier journals measured, else its budget.

A hint for the order of leases and for the time left, never for a score: a journal that cannot be
read is passed over.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import fmean

from ..outcome import Outcome
from ..plan.plan import Episode
from . import chain

RUNS = 20  # the newest; older ones were another machine's, as like as not
SAMPLE = 4 << 20  # bytes of one segment that are looked at: some thousand attempts
_PIECES = 64

_OPENED = b'"event":"run_opened"'
_COMMITTED = b'"event":"attempt_committed"'

Kind = tuple[str, str]  # case, variant


def expectations(
    episodes: Iterable[Episode], known: Mapping[Kind, Iterable[float]]
) -> dict[str, float]:
    """Seconds by episode: the mean of what is known of its kind, else of all, else its budget."""
    means = {kind: fmean(seconds) for kind, seconds in known.items()}
    typical = fmean(means.values()) if means else None
    expected = {}
    for episode in episodes:
        fallback = episode.expected_s if typical is None else typical
        expected[episode.id] = means.get((episode.case, episode.variant), fallback)
    return expected


def measured(journal: Path, agent: str) -> Iterator[tuple[Kind, float]]:
    """Durations of this agent's attempts that were not cut short by infrastructure.

    Lines are picked by their canonical spelling, unverified, and of a long journal not all: a whole
    read of many would keep a run waiting.
    """
    for segment in sorted(journal.glob("*.jsonl")):
        for line in _sample(segment):
            if _OPENED in line and json.loads(line)["agent"] != agent:
                return
            if _COMMITTED in line:
                event = json.loads(line)
                if event["judgement"]["outcome"] != Outcome.INFRA_FAILED:
                    case, variant, _ = event["episode"].rsplit(".", 2)
                    yield (case, variant), (event["ended_ms"] - event["started_ms"]) / 1000


def _sample(segment: Path) -> Iterator[bytes]:
    """Its lines; where they are many, those of evenly spread pieces, as equal episodes are run one
    after the other. The first piece is its beginning."""
    size = segment.stat().st_size
    piece = size if size <= SAMPLE else SAMPLE // _PIECES
    with segment.open("rb") as file:
        for start in range(0, size, max(piece, size // _PIECES)):
            file.seek(start)
            if start:
                file.readline()  # the rest of one that began before
            yield from file.readlines(piece)


def _changed(journal: Path) -> float:
    """When it was; one that is being removed is the oldest."""
    try:
        return journal.stat().st_mtime
    except OSError:
        return 0.0


def durations(runs: Path, agent: str) -> dict[Kind, list[float]]:
    """What the newest runs below this folder measured."""
    known: dict[Kind, list[float]] = defaultdict(list)
    for journal in sorted(runs.glob(f"*/{chain.FOLDER}"), key=_changed)[-RUNS:]:
        try:
            for kind, seconds in measured(journal, agent):
                known[kind].append(seconds)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # torn or edited: what was read of it so far is as good a hint as any
    return dict(known)
