"""Do two runs ask the same? Which of their episodes can be held against each other.

An episode is the same where its case and its seed are: the seed draws the case's values. Phones of
another image, or a profile of other content, would make a difference of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...cases.select import Matcher
from ...errors import UsageError
from ...pins.files import read_json
from ...pins.run_manifest import MANIFEST
from ...plan.plan import Episode, PlannedCase
from ..build import MIN_COVERAGE, coverage, gate
from ..episodes import RunResults, read_results
from ..model import EpisodeRow, Gate

_NAMED = 3  # of many, so many are named
_ACROSS = "Say --across-images if they should be compared all the same"


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    place: Path
    results: RunResults
    image: str | None  # its digest; None: the manifest does not tell

    @property
    def gate(self) -> Gate:
        return gate(coverage(self.results.rows), MIN_COVERAGE)


class PlannedEpisode(NamedTuple):
    """One episode as a run has it: what was asked, and what came of it."""

    episode: Episode
    case: PlannedCase
    row: EpisodeRow

    @property
    def names(self) -> tuple[str, ...]:
        """What -k looks at."""
        id, variant = self.episode.case, self.episode.variant
        return (id, *self.case.case.get("tags", ()), variant, f"{id}.{variant}")


@dataclass(frozen=True)
class Overlap:
    """What two runs share, by episode id, and what they do not."""

    same: tuple[str, ...]  # with the same case and seed
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    changed: tuple[str, ...]  # whose case is another
    drawn: tuple[str, ...]  # whose seed is another

    @property
    def differences(self) -> list[str]:
        """A sentence's part each; none where the runs ask the same."""
        texts = {
            "only A has": self.only_a,
            "only B has": self.only_b,
            "the case is not the same in": self.changed,
            "the seed is not the same in": self.drawn,
        }
        return [f"{text} {_some(ids)}" for text, ids in texts.items() if ids]


def side(place: Path) -> Side:
    return Side(place, read_results(place), _image(place / MANIFEST))


def _image(path: Path) -> str | None:
    try:
        told = read_json(path)["android"]["image_lock"]["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        return None  # said where it matters
    return told if isinstance(told, str) else None


def one_image(a: Side, b: Side) -> None:
    """UsageError where the phones were not, or may not have been, the same."""
    plans = a.results.plan, b.results.plan
    if plans[0].profile_digest != plans[1].profile_digest:
        found = ", ".join(f"{plan.profile} {plan.profile_digest[:12]}" for plan in plans)
        raise UsageError(f"the runs are of different profiles ({found}). {_ACROSS}")
    for each in (a, b):
        if each.image is None:
            raise UsageError(f"{each.place / MANIFEST} names no image. {_ACROSS}")
    if a.image != b.image:
        raise UsageError(f"the runs are of different images ({a.image}, {b.image}). {_ACROSS}")


def asked(results: RunResults, matches: Matcher) -> dict[str, PlannedEpisode]:
    """The episodes that -k keeps, by id."""
    case = results.plan.case
    every = (PlannedEpisode(episode, case(episode.case), row) for episode, row in results.episodes)
    return {each.episode.id: each for each in every if matches(each.names)}


def overlap(a: Mapping[str, PlannedEpisode], b: Mapping[str, PlannedEpisode]) -> Overlap:
    both = [id for id in a if id in b]
    changed = tuple(id for id in both if a[id].case.digest != b[id].case.digest)
    drawn = tuple(id for id in both if a[id].episode.seed != b[id].episode.seed)
    other = {*changed, *drawn}
    return Overlap(
        same=tuple(id for id in both if id not in other),
        only_a=tuple(id for id in a if id not in b),
        only_b=tuple(id for id in b if id not in a),
        changed=changed,
        drawn=drawn,
    )


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(ids[:_NAMED]) + more
