"""What does a run's folder say of its episodes? The plan and one pass over the journal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..coordinator import chain
from ..coordinator.transitions import EpisodeDecided
from ..plan.plan import Episode, Plan
from ..plan.store import FILE, read_plan
from .scores import Ended, Scores
from .shape import EpisodeRow


@dataclass(frozen=True)
class Reading:
    """A run as far as it has come."""

    run: str  # its name
    plan: Plan
    complete: bool  # the journal's last line seals it
    rows: tuple[EpisodeRow, ...]  # in the plan's order
    devices: dict[str, str]  # episode -> where its last attempt was
    texts: dict[str, str]  # episode -> what was said beside its final word

    @property
    def episodes(self) -> Iterator[tuple[Episode, EpisodeRow]]:
        return zip(self.plan.episodes, self.rows, strict=True)


def read(run: Path) -> Reading:
    """UsageError where there is no plan; JournalBroken where the journal was changed."""
    plan = read_plan(run / FILE)
    scores = Scores()
    devices: dict[str, str] = {}
    texts: dict[str, str] = {}
    walk = chain.Walk(run / chain.FOLDER)
    for line in walk:
        scores.hear(line.event)
        if isinstance(line.event, Ended):
            devices[line.event.episode] = line.event.device
        elif isinstance(line.event, EpisodeDecided):
            texts[line.event.episode] = line.event.judgement.text
    name = scores.run or run.resolve().name
    return Reading(name, plan, walk.end.sealed, scores.rows(plan), devices, texts)
