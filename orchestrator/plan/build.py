"""Builds a plan from cases and settings. Pure: the same input gives the same plan."""

from __future__ import annotations

from collections.abc import Iterable

from ..cases.load import LoadedCase
from ..cases.model import Case
from ..cases.select import no_match, selection
from ..errors import UsageError
from ..settings import RunSettings
from .plan import Episode, Plan, PlannedCase, pair_seed

MAX_EPISODES = 1_000_000


def build(
    cases: Iterable[LoadedCase],
    settings: RunSettings,
    profile: str,
    profile_digest: str,
    k: str = "",
) -> Plan:
    """Every selected variant of every case, repeated as the settings say, sorted by case id.

    `k` is a selection as cases/select.py reads it.
    """
    if settings.repeats < 1:
        raise UsageError(f"a plan cannot have {settings.repeats} repeats; ask for 1 or more")
    keep = selection(k)
    ordered = sorted(cases, key=lambda loaded: loaded.case.id)
    episodes = [
        episode(loaded.case, variant, repeat, settings.seed)
        for loaded in ordered
        for variant in sorted(loaded.case.variants)
        if variant in settings.variants and keep(loaded.case, variant)
        for repeat in range(1, settings.repeats + 1)
    ]
    if not episodes:
        if k:
            raise no_match(k, (loaded.case for loaded in ordered))
        raise UsageError("no episode is left to run; ask for other cases or variants")
    if len(episodes) > MAX_EPISODES:
        raise UsageError(f"{len(episodes)} episodes are more than {MAX_EPISODES}; ask for fewer")
    used = {each.case for each in episodes}
    return Plan(
        seed=settings.seed,
        repeats=settings.repeats,
        agent=settings.agent,
        profile=profile,
        profile_digest=profile_digest,
        cases=tuple(_planned(loaded) for loaded in ordered if loaded.case.id in used),
        episodes=tuple(episodes),
    )


def episode(case: Case, variant: str, repeat: int, seed: int) -> Episode:
    """One episode of a case under this global seed."""
    return Episode(
        id=f"{case.id}.{variant}.{repeat}",
        case=case.id,
        variant=variant,
        repeat=repeat,
        seed=pair_seed(seed, case.id, repeat) if case.case_seed is None else case.case_seed,
        expected_s=float(case.budget.seconds),
    )


def _planned(loaded: LoadedCase) -> PlannedCase:
    body = loaded.case.model_dump(mode="json", by_alias=True)
    return PlannedCase(loaded.case.id, loaded.digest, body, dict(loaded.site))
