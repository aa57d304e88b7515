"""Expected durations of episodes: the means that earlier journals measured, else the budget.

    durations.json    what the runs beside it had measured when a run was planned

It travels with the run: its coordinator may be on another machine. They order leases and give the
time left; no score depends on them. A journal that cannot be read is skipped.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import fmean

from ..errors import UsageError
from ..files import read_json
from ..outcome import Outcome
from ..plan.plan import Episode
from . import chain

FILE = "durations.json"
RUNS = 20  # the newest; older ones are likely another machine's
SAMPLE = 4 << 20  # bytes that are read of one segment: some thousand attempts
_PIECES = 64

_OPENED = b'"event":"run_opened"'
_COMMITTED = b'"event":"attempt_committed"'

Kind = tuple[str, str]  # case, variant


def expectations(episodes: Iterable[Episode], means: Mapping[Kind, float]) -> dict[str, float]:
    """Seconds by episode: the mean of its kind, else of all kinds, else the episode's budget."""
    typical = fmean(means.values()) if means else None
    expected = {}
    for episode in episodes:
        fallback = episode.expected_s if typical is None else typical
        expected[episode.id] = means.get((episode.case, episode.variant), fallback)
    return expected


def measured(journal: Path, agent: str) -> Iterator[tuple[Kind, float]]:
    """Durations of this agent's attempts that were not cut short by infrastructure.

    Lines are picked by their canonical spelling and not verified, and long journals are sampled:
    reading many journals whole would delay a run.
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
    """The lines of a segment; of a long one, those of evenly spread pieces, since similar episodes
    run one after the other. The first piece is the segment's beginning."""
    size = segment.stat().st_size
    piece = size if size <= SAMPLE else SAMPLE // _PIECES
    with segment.open("rb") as file:
        for start in range(0, size, max(piece, size // _PIECES)):
            file.seek(start)
            if start:
                file.readline()  # the rest of a line that began before
            yield from file.readlines(piece)


def _changed(journal: Path) -> float:
    """Its modification time; a journal that is being removed counts as the oldest."""
    try:
        return journal.stat().st_mtime
    except OSError:
        return 0.0


def measured_means(runs: Path, agent: str) -> dict[Kind, float]:
    """What the newest runs below this folder measured, by kind of episode."""
    known: dict[Kind, list[float]] = defaultdict(list)
    for journal in sorted(runs.glob(f"*/{chain.FOLDER}"), key=_changed)[-RUNS:]:
        try:
            for kind, seconds in measured(journal, agent):
                known[kind].append(seconds)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # torn or edited; what was read so far is good enough
    return {kind: fmean(seconds) for kind, seconds in known.items()}


def as_json(means: Mapping[Kind, float]) -> dict[str, dict[str, float]]:
    """By case and variant."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (case, variant), seconds in means.items():
        found[case][variant] = round(seconds, 3)
    return dict(found)


def recorded_means(run: Path) -> dict[Kind, float]:
    """What the run's folder has; nothing where it has no such file. UsageError where it is not
    one."""
    path = run / FILE
    try:
        return {
            (case, variant): float(seconds)
            for case, by_variant in read_json(path).items()
            for variant, seconds in by_variant.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no record of durations: {error!r}") from error
