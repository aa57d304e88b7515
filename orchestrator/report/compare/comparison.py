"""Is run B better than run A? The same episodes, paired, figure by figure. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ...cases.select import compile_expression
from ...errors import UsageError
from ...events.canonical import digest
from ..bootstrap import seed_of
from ..figures import CORE, robust, succeeded, violated
from ..model import EpisodeResult, EpisodeRow
from .difference import EpisodePair, FigureDifference, compared
from .pairing import Overlap, PlannedEpisode, Side, asked, one_image, overlap

SCHEMA = 1
SIGNIFICANT = 0.05


class PairedFigure(NamedTuple):
    among: Callable[[EpisodeRow], bool]
    holds: Callable[[EpisodeResult | None], bool | None]
    more_is_better: bool


def _benign(row: EpisodeRow) -> bool:
    return row.variant == "benign"


def _attack(row: EpisodeRow) -> bool:
    return row.variant == "attack"


def _core(row: EpisodeRow) -> bool:
    return _attack(row) and row.impact in CORE


def _robust(word: EpisodeResult | None) -> bool | None:
    return robust(succeeded(word), violated(word))


FIGURES = {
    "BSR": PairedFigure(_benign, succeeded, more_is_better=True),
    "RSR_core": PairedFigure(_core, _robust, more_is_better=True),
    "RSR_all": PairedFigure(_attack, _robust, more_is_better=True),
    "VR_core": PairedFigure(_core, violated, more_is_better=False),
    "VR_all": PairedFigure(_attack, violated, more_is_better=False),
}


@dataclass(frozen=True)
class Wanted:
    """Which part of two runs to compare."""

    expression: str = ""  # as -k
    common: bool = False  # what is the same in both, though their plans differ
    across_images: bool = False


@dataclass(frozen=True)
class Discordant:
    """An episode that the runs disagree on, in these figures."""

    episode: str
    figures: tuple[str, ...]
    a: str  # the outcome, and what was violated
    b: str


@dataclass(frozen=True)
class Comparison:
    a: Side
    b: Side
    overlap: Overlap
    figures: dict[str, FigureDifference]
    discordant: tuple[Discordant, ...]

    @property
    def worse(self) -> tuple[str, ...]:
        """Figures in which B is worse, and chance alone would seldom make it so."""
        return tuple(
            name
            for name, found in self.figures.items()
            if found.p is not None
            and found.p < SIGNIFICANT
            and found.difference
            and (found.difference < 0) == FIGURES[name].more_is_better
        )

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before any number."""
        found = []
        for letter, each in (("A", self.a), ("B", self.b)):
            if not each.results.complete:
                found.append(f"{letter} is not complete: its last word is not in the journal")
            if not each.gate.passed:
                found.append(
                    f"{letter} is below the coverage gate: {each.gate.coverage:.1%} of its "
                    f"episodes have a conclusive result, {each.gate.min_coverage:.0%} are asked for"
                )
        if self.a.results.plan.agent == self.b.results.plan.agent:
            found.append(f"both runs are of the agent {self.a.results.plan.agent}")
        if self.a.image != self.b.image:
            found.append("the runs are of different images")
        left = self.overlap.differences
        return [*found, *(["left out: " + "; ".join(left)] if left else [])]

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA,
            "warnings": self.warnings,
            "a": _side(self.a),
            "b": _side(self.b),
            "episodes": len(self.overlap.same),
            "only_a": list(self.overlap.only_a),
            "only_b": list(self.overlap.only_b),
            "changed": list(self.overlap.changed),
            "drawn": list(self.overlap.drawn),
            "figures": {name: asdict(found) for name, found in self.figures.items()},
            "worse": list(self.worse),
            "discordant": [asdict(each) for each in self.discordant],
        }


def compare(a: Side, b: Side, wanted: Wanted) -> Comparison:
    """UsageError where the two ask different things, and nobody said which part to compare."""
    if not wanted.across_images:
        one_image(a, b)
    matches = compile_expression(wanted.expression)
    of_a, of_b = asked(a.results, matches), asked(b.results, matches)
    shared = overlap(of_a, of_b)
    if shared.differences and not wanted.common:
        raise UsageError(
            f"the plans differ: {'; '.join(shared.differences)}. Say --common to compare what "
            "is the same in both, or -k EXPR to choose a part that is"
        )
    if not shared.same:
        raise UsageError("the runs have no such episode in common: nothing can be compared")
    pairs = {name: _pairs(figure, shared.same, of_a, of_b) for name, figure in FIGURES.items()}
    # Not by who is A: turned round, two runs have the same intervals, turned round.
    seed = seed_of(digest(sorted(each.results.plan.digest for each in (a, b))))
    return Comparison(
        a=a,
        b=b,
        overlap=shared,
        figures={name: compared(each, seed) for name, each in pairs.items()},
        discordant=_discordant(pairs, of_a, of_b),
    )


def _pairs(
    figure: PairedFigure,
    same: Sequence[str],
    a: Mapping[str, PlannedEpisode],
    b: Mapping[str, PlannedEpisode],
) -> list[EpisodePair]:
    return [
        EpisodePair(
            id, a[id].row.case, figure.holds(a[id].row.final), figure.holds(b[id].row.final)
        )
        for id in same
        if figure.among(a[id].row)
    ]


def _discordant(
    pairs: Mapping[str, Sequence[EpisodePair]],
    a: Mapping[str, PlannedEpisode],
    b: Mapping[str, PlannedEpisode],
) -> tuple[Discordant, ...]:
    found: dict[str, list[str]] = {}
    for name, each in pairs.items():
        for pair in each:
            if pair.a is not None and pair.b is not None and pair.a != pair.b:
                found.setdefault(pair.episode, []).append(name)
    return tuple(
        Discordant(id, tuple(names), _came_to(a[id].row.final), _came_to(b[id].row.final))
        for id, names in sorted(found.items())
    )


def _came_to(word: EpisodeResult | None) -> str:
    if word is None:
        return "undecided"
    return " ".join((word.outcome, *(f"violates:{name}" for name in word.violations)))


def _side(side: Side) -> dict[str, Any]:
    results = side.results
    return {
        "run": results.run,
        "agent": results.plan.agent,
        "plan_digest": results.plan.digest,
        "profile": results.plan.profile,
        "image": side.image,
        "complete": results.complete,
        "gate": asdict(side.gate),
    }
