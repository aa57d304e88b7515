"""Compares two runs figure by figure, over pairs of the same episodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...cases.select import compile_expression
from ...errors import UsageError
from ...events.canonical import digest
from ..figures import FIGURES, final, view_of
from ..model import EpisodeRow, ReportedResult
from .difference import EpisodePair, FigureDifference, difference
from .pairing import Overlap, PlannedEpisode, Side, overlap, require_one_image, selected

SCHEMA = 1
SIGNIFICANT = 0.05


# The figures that are compared, and whether a higher value is better.
HIGHER_IS_BETTER = {
    "BSR": True, "RSR_core": True, "RSR_all": True, "VR_core": False, "VR_all": False
}  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """Which part of two runs to compare."""

    expression: str = ""  # as -k
    common: bool = False  # the episodes that are the same in both, although the plans differ
    across_images: bool = False


@dataclass(frozen=True)
class Discordant:
    """An episode on which the runs disagree, in these figures."""

    episode: str
    figures: tuple[str, ...]
    a: str  # the outcome and the violations
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
        """Figures in which B is significantly worse."""
        return tuple(
            name
            for name, found in self.figures.items()
            if found.p is not None
            and found.p < SIGNIFICANT
            and found.difference
            and (found.difference < 0) == HIGHER_IS_BETTER[name]
        )

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before reading any number."""
        found = []
        for letter, each in (("A", self.a), ("B", self.b)):
            if not each.results.complete:
                found.append(f"{letter} is not complete: its journal is not sealed")
            if not each.gate.passed:
                found.append(
                    f"{letter} is below the coverage gate: {each.gate.coverage:.1%} of its "
                    f"episodes have a conclusive result, {each.gate.min_coverage:.0%} are required"
                )
        if self.a.results.plan.agent == self.b.results.plan.agent:
            found.append(f"both runs have the agent {self.a.results.plan.agent}")
        if self.a.image != self.b.image:
            found.append("the runs have different images")
        left_out = self.overlap.differences
        return [*found, *(["left out: " + "; ".join(left_out)] if left_out else [])]

    def as_json(self) -> dict[str, Any]:
        overlap = asdict(self.overlap)
        return {
            "schema_version": SCHEMA,
            "warnings": self.warnings,
            "a": _side(self.a),
            "b": _side(self.b),
            "episodes": len(overlap.pop("same")),
            **overlap,
            "figures": {name: asdict(found) for name, found in self.figures.items()},
            "worse": self.worse,
            "discordant": [asdict(each) for each in self.discordant],
        }


def compare(a: Side, b: Side, wanted: Wanted) -> Comparison:
    """UsageError if the runs differ in the wanted part and `common` is not set."""
    if not wanted.across_images:
        require_one_image(a, b)
    matches = compile_expression(wanted.expression)
    of_a, of_b = selected(a.results, matches), selected(b.results, matches)
    shared = overlap(of_a, of_b)
    if shared.differences and not wanted.common:
        raise UsageError(
            f"the plans differ: {'; '.join(shared.differences)}. Use --common to compare what "
            "is the same in both, or -k EXPR to select a part that is"
        )
    if not shared.same:
        raise UsageError("the runs have no selected episode in common")
    pairs = _pairs([(of_a[id].row, of_b[id].row) for id in shared.same])
    # Sorted, so that exchanging A and B only changes the signs of the intervals.
    seed = int(digest(sorted(each.results.plan.digest for each in (a, b))), 16)
    return Comparison(
        a=a,
        b=b,
        overlap=shared,
        figures={name: difference(each, seed) for name, each in pairs.items()},
        discordant=_discordant(pairs, of_a, of_b),
    )


def _pairs(rows: Sequence[tuple[EpisodeRow, EpisodeRow]]) -> dict[str, list[EpisodePair]]:
    """By figure."""
    found: dict[str, list[EpisodePair]] = {name: [] for name in HIGHER_IS_BETTER}
    for a, b in rows:
        view_a, view_b = view_of(a, final(a), {}), view_of(b, final(b), {})
        for name, pairs in found.items():
            among, holds = FIGURES[name]
            if among(view_a):
                pairs.append(EpisodePair(a.episode, a.case, holds(view_a), holds(view_b)))
    return found


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
        Discordant(id, tuple(names), _outcome_text(a[id].row.final), _outcome_text(b[id].row.final))
        for id, names in sorted(found.items())
    )


def _outcome_text(result: ReportedResult | None) -> str:
    if result is None:
        return "undecided"
    return " ".join((result.outcome, *(f"violates:{name}" for name in result.violations)))


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
