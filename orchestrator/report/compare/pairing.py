"""Pairs the episodes of two runs: those with the same id, case and seed, on the same image.

The seed draws the case's values, so an episode with another seed is another episode. Phones with
another image or profile could cause differences of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...cases.select import Matcher
from ...errors import UsageError
from ...files import read_json
from ...pins.run_manifest import MANIFEST
from ...plan.plan import Episode, PlannedCase
from ..build import MIN_COVERAGE, coverage, gate
from ..episodes import RunResults, read_results
from ..model import EpisodeRow, Gate

_NAMED = 3  # more episodes than this are only counted
_ACROSS = "Use --across-images to compare them nevertheless"


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    folder: Path
    results: RunResults
    image: str | None  # its digest; None: the manifest does not name it

    @property
    def gate(self) -> Gate:
        return gate(coverage(self.results.rows), MIN_COVERAGE)


class PlannedEpisode(NamedTuple):
    """One episode of a run, with its case and its result."""

    episode: Episode
    case: PlannedCase
    row: EpisodeRow

    @property
    def names(self) -> tuple[str, ...]:
        """The names that -k matches."""
        id, variant = self.episode.case, self.episode.variant
        return (id, *self.case.case.get("tags", ()), variant, f"{id}.{variant}")


@dataclass(frozen=True)
class Overlap:
    """What two runs share, by episode id, and what they do not."""

    same: tuple[str, ...]  # with the same case and seed
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    changed: tuple[str, ...]  # with different cases
    drawn: tuple[str, ...]  # with different seeds

    @property
    def differences(self) -> list[str]:
        """One clause for each kind of difference; none if the runs have the same episodes."""
        texts = {
            "only A has": self.only_a,
            "only B has": self.only_b,
            "the case differs in": self.changed,
            "the seed differs in": self.drawn,
        }
        return [f"{text} {_some(ids)}" for text, ids in texts.items() if ids]


def side(folder: Path) -> Side:
    return Side(folder, read_results(folder), _image(folder / MANIFEST))


def _image(path: Path) -> str | None:
    try:
        digest = read_json(path)["android"]["image_lock"]["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        return None  # require_one_image reports it
    return digest if isinstance(digest, str) else None


def require_one_image(a: Side, b: Side) -> None:
    """Raise UsageError unless both runs had the same profile and image."""
    plans = a.results.plan, b.results.plan
    if plans[0].profile_digest != plans[1].profile_digest:
        found = ", ".join(f"{plan.profile} {plan.profile_digest[:12]}" for plan in plans)
        raise UsageError(f"the runs have different profiles ({found}). {_ACROSS}")
    for each in (a, b):
        if each.image is None:
            raise UsageError(f"{each.folder / MANIFEST} does not name the image. {_ACROSS}")
    if a.image != b.image:
        raise UsageError(f"the runs have different images ({a.image}, {b.image}). {_ACROSS}")


def selected(results: RunResults, matches: Matcher) -> dict[str, PlannedEpisode]:
    """The episodes that -k selects, by id."""
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
